//! Failures of sessions and hosts, and how they are reported.

use std::io;
use std::time::Duration;

use pitot_client::Fault;
use pitot_sys::errno;

use super::state::Engine;
use crate::batch::Reply;

/// The most hosts whose first failure is reported at once; the result has the others.
const HOSTS_REPORTED_MAX: u64 = 10;

/// Why a session ends.
#[derive(Debug)]
pub(super) enum End {
    /// It ended in order, with QUIT or by the host.
    Done,
    /// The connection broke.
    Broken(String),
    /// The host has refused.
    Reply(Reply),
    /// TLS could not be set up.
    Tls(String),
    /// Login is impossible.
    NoLogin(&'static str),
}

impl End {
    /// The host accepts no mail: a 5xx reply instead of a greeting, or to EHLO (RFC 5321 section 3.1).
    pub(super) fn is_final(&self) -> bool {
        match self {
            End::Reply(reply) => reply.code / 100 == 5,
            End::NoLogin(_) => true,
            _ => false,
        }
    }
}

impl From<io::Error> for End {
    fn from(e: io::Error) -> End {
        End::Broken(e.raw_os_error().map_or_else(|| e.to_string(), |n| errno::name(n).to_owned()))
    }
}

impl Engine<'_> {
    /// Reports a host's first failure to the observer, as the reason why recipients wait.
    pub(super) fn report_failure(&mut self, host: u32, reply: &Reply) {
        let h = &mut self.hosts.all[host as usize];
        let is_known = std::mem::replace(&mut h.failure_reported, true);
        let refuses = h.refuses;
        // What a relay refuses is the reason why the run ends.
        let is_told = refuses && self.plan.relay.is_some();
        if is_known || is_told || self.stopping || self.failures_reported >= HOSTS_REPORTED_MAX {
            return;
        }
        self.failures_reported += 1;
        let ending = if refuses || self.plan.retries == 0 {
            String::new()
        } else {
            format!("; retrying its recipients within {:?}", Duration::from(self.plan.retry_delay))
        };
        let line = match reply.code {
            0 => self.at_host(host, &reply.to_string()),
            _ => {
                let (name, addr) = self.host_name(host);
                format!("{name} at {addr} replied {reply}")
            }
        };
        self.observer.note(&format!("{line}{ending}"));
    }

    /// A reason in words, with the host in front.
    pub(super) fn at_host(&self, host: u32, words: &str) -> String {
        let (name, addr) = self.host_name(host);
        if *name == *addr.ip().to_string() {
            format!("{addr}: {words}")
        } else {
            format!("{name} at {addr}: {words}")
        }
    }
}

/// The end of a session as a reply that decides for its recipients.
pub(super) fn reply_for(end: End) -> Reply {
    match end {
        End::Reply(reply) => reply,
        End::Done => Reply::own("the host closed the session"),
        End::Broken(why) => Reply::own(why),
        End::NoLogin(why) => Reply::own(why),
        End::Tls(why) => Reply::own(format!("TLS: {why}")),
    }
}

/// A fault in what a host sends, in words.
pub(super) fn not_smtp(fault: Fault) -> &'static str {
    match fault {
        // Layers are none of a dialogue's.
        Fault::Malformed | Fault::Named(_) | Fault::Handshake(_) => "the host does not use SMTP",
        Fault::TooLarge => "the host's reply is too long",
        Fault::Unasked => "the host sent a reply without a command",
    }
}
