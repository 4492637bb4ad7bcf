//! Writing every key once before a run.

use std::sync::Arc;

use super::commands::write_set;
use crate::cache::Workload;
use crate::protocol::Preload;

/// Bytes of one batch. A batch ends with a command whose reply shows that all of it is done.
const BATCH_BYTES: usize = 256 * 1024;

/// Fills the cache in batches of commands without replies.
pub(super) struct Fill {
    workload: Arc<Workload>,
    next: u64,
    input: Vec<u8>,
    /// The last batch has no reply yet.
    waiting: bool,
}

impl Fill {
    pub(super) fn new(workload: Arc<Workload>) -> Fill {
        Fill { workload, next: 0, input: Vec::new(), waiting: false }
    }
}

impl Preload for Fill {
    fn step(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<bool, String> {
        self.input.extend_from_slice(input);
        if self.waiting {
            let Some(end) = self.input.iter().position(|&b| b == b'\n') else {
                return if self.input.len() < 1024 {
                    Ok(false)
                } else {
                    Err("the server does not speak memcached's protocol".into())
                };
            };
            let line = String::from_utf8_lossy(&self.input[..end]).trim_end().to_owned();
            if !line.starts_with("VERSION") {
                return Err(format!("the server refused to store a value: `{line}`"));
            }
            self.input.drain(..=end);
            self.waiting = false;
        }
        if self.next == self.workload.keys.count {
            return Ok(true);
        }
        while self.next < self.workload.keys.count && out.len() < BATCH_BYTES {
            write_set(&self.workload, self.next, true, |bytes| out.extend_from_slice(bytes));
            self.next += 1;
        }
        out.extend_from_slice(b"version\r\n");
        self.waiting = true;
        Ok(false)
    }
}
