//! Writing every key once before a run.

use std::sync::Arc;

use memchr::memchr;

use super::commands::write_set;
use super::login::Login;
use super::refusal::LINE_BYTES_MAX;
use crate::cache::Workload;
use crate::protocol::Preload;

/// Bytes of one batch; all its writes are answered before the next.
const BATCH_BYTES: usize = 256 * 1024;

pub(super) struct Fill {
    workload: Arc<Workload>,
    /// Sent before the first write, and then `None`.
    login: Option<Login>,
    /// The replies of the login are awaited.
    logs_in: bool,
    next: u64,
    input: Vec<u8>,
    /// Writes without a reply.
    unanswered: u64,
}

impl Fill {
    pub(super) fn new(workload: Arc<Workload>, login: Login) -> Fill {
        let login = Some(login).filter(|login| login.replies() > 0);
        Fill { workload, login, logs_in: false, next: 0, input: Vec::new(), unanswered: 0 }
    }
}

impl Preload for Fill {
    fn step(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<bool, String> {
        if let Some(login) = self.login.take() {
            out.extend_from_slice(login.bytes());
            (self.logs_in, self.unanswered) = (true, u64::from(login.replies()));
            return Ok(false);
        }
        self.input.extend_from_slice(input);
        let mut at = 0;
        while self.unanswered > 0 {
            let rest = &self.input[at..];
            let Some(end) = memchr(b'\n', rest) else {
                if rest.len() > LINE_BYTES_MAX {
                    return Err("the server does not speak the protocol of Redis".into());
                }
                self.input.drain(..at);
                return Ok(false);
            };
            if rest[0] != b'+' {
                let line = String::from_utf8_lossy(&rest[..end.min(LINE_BYTES_MAX)]).trim_end().to_owned();
                let what = if self.logs_in { "the login" } else { "to store a value" };
                return Err(format!("the server refused {what}: `{line}`"));
            }
            at += end + 1;
            self.unanswered -= 1;
        }
        self.input.drain(..at);
        self.logs_in = false;
        if self.next == self.workload.keys.count {
            return Ok(true);
        }
        while self.next < self.workload.keys.count && out.len() < BATCH_BYTES {
            write_set(&self.workload, self.next, |bytes| out.extend_from_slice(bytes));
            self.next += 1;
            self.unanswered += 1;
        }
        Ok(false)
    }
}
