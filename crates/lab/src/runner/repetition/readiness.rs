//! Waiting until a server is ready, by the sign that it gives.

use std::time::Duration;

use crate::plan::Ready;

use super::context::{Abort, Context};
use super::stop::wait_for_end;
use crate::runner::executor::{Ending, Role};

/// Time between checks whether a server is ready.
const READY_INTERVAL: Duration = Duration::from_millis(5);
/// At most so many lines of a program are read before it is asked.
const LINES_MAX: usize = 64;

/// How a program shows that it is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// In the manner of `pitot serve`: the line `ready ADDRESS` on its stdout.
    ReadyLine,
    /// In the manner that a plan describes; it listens on this address.
    Described {
        /// The sign.
        ready: Ready,
        /// Texts in a line by which it says that it will never be ready.
        failed: Vec<String>,
        /// Where it listens.
        address: String,
    },
}

/// Waits until a program is ready, and returns its address.
pub(super) fn wait_until_ready(context: &mut Context<'_>, role: Role, sign: &Sign) -> Result<String, Abort> {
    let timeout_s = context.ready_timeout_s(role);
    let deadline = context.deadline(timeout_s);
    loop {
        context.check_user()?;
        // To ask takes long where something else has the port, and a program says much in the meantime.
        let mut interval = READY_INTERVAL;
        for _ in 0..LINES_MAX {
            let Some(line) = context.executor.wait(interval) else { break };
            interval = Duration::ZERO;
            if line.role != role {
                continue;
            }
            if let Some(address) = address_in(&line.text, line.on_stdout, sign) {
                return Ok(address);
            }
            if says_never(&line.text, sign) {
                let name = context.name(role);
                let said = line.text.trim();
                return Err(Abort::Failed(format!("{name} will never be ready: it printed `{said}`")));
            }
        }
        context.check_server("before it was ready")?;
        context.check_helpers()?;
        if let Sign::Described { ready, address, .. } = sign
            && answers(context, ready, address)?
        {
            return Ok(address.clone());
        }
        if context.executor.now() > deadline {
            let name = context.name(role);
            return Err(Abort::Failed(format!("{name} was not ready within {timeout_s} s")));
        }
    }
}

/// Whether a server at this address is ready, as far as it can be asked.
fn answers(context: &mut Context<'_>, ready: &Ready, address: &str) -> Result<bool, Abort> {
    Ok(match ready {
        Ready::Line(_) => false,
        Ready::Port => context.executor.accepts(address),
        Ready::Get(path) => context.executor.serves(address, path),
        Ready::Answer { send, expect } => {
            context.executor.answers(address, &send.replace("{address}", address), expect)
        }
        Ready::Https(path) => {
            context.executor.accepts(address)
                && replies_over_tls(context, &format!("https://{address}{path}"))?
        }
    })
}

/// Whether a request over TLS is answered as it should be: a load generator asks, which knows TLS.
fn replies_over_tls(context: &mut Context<'_>, url: &str) -> Result<bool, Abort> {
    let options = ["--insecure", "--connections", "1", "--requests-total", "1", "--timeout", "2s"];
    let gate = ["--expect-status", "200", "--fail-if", "errors > 0"];
    let words = [context.shared.pitot, "load", url].into_iter().chain(options).chain(gate);
    context.start(Role::WarmUp, words.map(str::to_owned).collect())?;
    Ok(wait_for_end(context, Role::WarmUp)? == Ending::Code(0))
}

/// The address, if this line is the sign.
fn address_in(line: &str, on_stdout: bool, sign: &Sign) -> Option<String> {
    match sign {
        Sign::ReadyLine if on_stdout => line.strip_prefix("ready ").map(|address| address.trim().to_owned()),
        Sign::Described { ready: Ready::Line(wanted), address, .. } => {
            line.contains(wanted).then(|| address.clone())
        }
        Sign::ReadyLine | Sign::Described { .. } => None,
    }
}

/// Whether a program says by this line that it will never be ready.
fn says_never(line: &str, sign: &Sign) -> bool {
    match sign {
        Sign::ReadyLine => false,
        Sign::Described { failed, .. } => failed.iter().any(|text| line.contains(text)),
    }
}
