//! Waits until a server is ready.

use std::time::Duration;

use pitot_meter::Nanos;
use pitot_sys::processes::ProcessTable;
use pitot_sys::tcp_sockets::listening;

use pitot_plan::Ready;

use super::context::{Abort, Context};
use crate::runner::executor::{Ending, Question, Role};

/// Interval of checks whether a server is ready.
pub(super) const READY_INTERVAL: Duration = Duration::from_millis(5);
/// Maximum number of lines of a program that are read before each request.
const LINES_MAX: usize = 64;

/// How a program shows that it is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// As `pitot serve`: it prints the line `ready ADDRESS` on stdout.
    ReadyLine,
    /// As the plan describes.
    Described {
        /// The sign.
        ready: Ready,
        /// Texts in a line that show that it will never be ready.
        failed: Vec<String>,
        /// Its address.
        address: String,
    },
}

impl Sign {
    /// What is missing: a sentence.
    fn lacking(&self) -> String {
        let Sign::Described { ready, address, .. } = self else {
            return "it did not print `ready ADDRESS`".to_owned();
        };
        match ready {
            Ready::Line(text) => format!("it did not print `{text}`"),
            Ready::Port => format!("nothing accepts connections at {address}"),
            Ready::Get(path) => format!("GET http://{address}{path} did not return status 200"),
            Ready::Https(path) => format!("GET https://{address}{path} did not return status 200"),
            Ready::Answer { expect, .. } => {
                format!("{address} did not reply with `{}`", expect.escape_debug())
            }
        }
    }
}

/// The state of a program that is not ready yet, between checks.
#[derive(Debug)]
pub(in crate::runner) struct Readiness {
    role: Role,
    sign: Sign,
    timeout_s: f64,
    deadline: Nanos,
    /// A load generator sends it a request over TLS.
    is_asked: bool,
}

impl Readiness {
    /// For a program that was started now.
    pub(super) fn from_now(context: &mut Context<'_>, role: Role, sign: Sign) -> Readiness {
        let timeout_s = context.ready_timeout_s(role);
        let deadline = context.deadline(timeout_s);
        Readiness { role, sign, timeout_s, deadline, is_asked: false }
    }

    /// Waits until it is ready, and returns its address.
    pub(super) fn wait(mut self, context: &mut Context<'_>) -> Result<String, Abort> {
        loop {
            context.check_user()?;
            if let Some(address) = self.look(context, READY_INTERVAL)? {
                return Ok(address);
            }
        }
    }

    /// Its address, once it is ready. Blocks for at most `interval`, not for a reply, which a later call checks.
    pub(in crate::runner) fn look(
        &mut self,
        context: &mut Context<'_>,
        interval: Duration,
    ) -> Result<Option<String>, Abort> {
        if let Some(address) = self.said(context, interval)? {
            return Ok(Some(address));
        }
        context.check_server("before it was ready")?;
        // Helpers are for the load: a server can be restarted without them.
        if self.role != Role::Server {
            context.check_helpers()?;
        }
        if let Some(address) = self.asked(context)? {
            return Ok(Some(address));
        }
        if context.executor.now() > self.deadline {
            let (name, timeout_s) = (context.name(self.role), self.timeout_s);
            let (lacks, listens) = (self.sign.lacking(), self.listens(context));
            return Err(Abort::Failed(format!(
                "{name} was not ready within {timeout_s} s: {lacks}{listens}"
            )));
        }
        Ok(None)
    }

    /// Where the program listens instead, as the rest of a sentence; empty on another machine.
    fn listens(&self, context: &mut Context<'_>) -> String {
        let Sign::Described { address: wanted, .. } = &self.sign else { return String::new() };
        let Some(pid) = context.executor.pid(self.role) else { return String::new() };
        let found = listening(ProcessTable::read().of(pid).iter().map(|process| process.pid));
        let port = wanted.rsplit_once(':').map(|(_, port)| port.to_owned());
        if found.iter().any(|address| Some(address.port().to_string()) == port) {
            return String::new();
        }
        let found: Vec<String> = found.iter().map(|address| address.to_string()).collect();
        match found.is_empty() {
            true => "; it does not listen on any port".to_owned(),
            false => format!("; it listens on {}", found.join(" and ")),
        }
    }

    /// The address, if the program has printed its line.
    fn said(&self, context: &mut Context<'_>, mut interval: Duration) -> Result<Option<String>, Abort> {
        // A request is slow if another program has the port, and meanwhile the program may print a lot.
        for _ in 0..LINES_MAX {
            let Some(line) = context.executor.wait(interval) else { break };
            interval = Duration::ZERO;
            if line.role != self.role {
                continue;
            }
            if let Some(address) = address_in(&line.text, line.on_stdout, &self.sign) {
                return Ok(Some(address));
            }
            if says_never(&line.text, &self.sign) {
                let (name, said) = (context.name(self.role), line.text.trim());
                return Err(Abort::Failed(format!("{name} will never be ready: it printed `{said}`")));
            }
        }
        Ok(None)
    }

    /// The address, if the program replies as expected.
    fn asked(&mut self, context: &mut Context<'_>) -> Result<Option<String>, Abort> {
        if let Sign::Described { ready, address, .. } = &self.sign {
            let mut gets = |question| context.executor.answers(address, &question);
            let is_ready = match ready {
                Ready::Line(_) => false,
                Ready::Port => gets(Question::Connection),
                Ready::Get(path) => gets(Question::Page(path.clone())),
                Ready::Answer { send, expect } => {
                    gets(Question::Text { send: send.replace("{address}", address), expect: expect.clone() })
                }
                Ready::Https(path) => replies_over_tls(
                    context,
                    &mut self.is_asked,
                    address,
                    &format!("https://{address}{path}"),
                )?,
            };
            if is_ready {
                return Ok(Some(address.clone()));
            }
        }
        Ok(None)
    }
}

/// Waits until a program that was just started is ready, and returns its address.
pub(super) fn wait_until_ready(context: &mut Context<'_>, role: Role, sign: Sign) -> Result<String, Abort> {
    Readiness::from_now(context, role, sign).wait(context)
}

/// Whether a request over TLS got the expected reply. A load generator sends it; `is_asked` says that it is running.
fn replies_over_tls(
    context: &mut Context<'_>,
    is_asked: &mut bool,
    address: &str,
    url: &str,
) -> Result<bool, Abort> {
    if *is_asked {
        let ending = context.executor.ending(Role::WarmUp);
        *is_asked = ending.is_none();
        return Ok(ending == Some(Ending::Code(0)));
    }
    if context.executor.answers(address, &Question::Connection) {
        let options = ["--insecure", "--connections", "1", "--requests-total", "1", "--timeout", "2s"];
        let gate = ["--expect-status", "200", "--fail-if", "errors > 0"];
        let words = [context.shared.pitot, "load", url].into_iter().chain(options).chain(gate);
        context.start(Role::WarmUp, words.map(str::to_owned).collect())?;
        *is_asked = true;
    }
    Ok(false)
}

/// The address, if this is the expected line.
fn address_in(line: &str, on_stdout: bool, sign: &Sign) -> Option<String> {
    match sign {
        Sign::ReadyLine if on_stdout => line.strip_prefix("ready ").map(|address| address.trim().to_owned()),
        Sign::Described { ready: Ready::Line(wanted), address, .. } => {
            line.contains(wanted).then(|| address.clone())
        }
        Sign::ReadyLine | Sign::Described { .. } => None,
    }
}

/// Whether this line shows that a program will never be ready.
fn says_never(line: &str, sign: &Sign) -> bool {
    match sign {
        Sign::ReadyLine => false,
        Sign::Described { failed, .. } => failed.iter().any(|text| line.contains(text)),
    }
}
