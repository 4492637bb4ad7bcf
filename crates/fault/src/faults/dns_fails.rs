//! Names cannot be looked up.

use crate::entry::{Aim, Fault, Means, Reply};
use crate::options::Failing;

pub(super) static FAULT: Fault = Fault {
    name: "dns-fails",
    summary: "Let names not be looked up: the resolver fails, refuses or is silent.",
    doc: "In a resolver of Pitot's own, `{resolver}` in plans, for those who ask it. `failure` says how: SERVFAIL, REFUSED, or no \
          reply at all, where clients wait and ask again. Connections that are open go on. Its answers may not be remembered (TTL 0), \
          so that the fault is felt at once and is over when it ends.",
    aim: Aim::Names,
    takes: &["failure"],
    lasts_s: 1.0,
    is_moment: false,
    may_end_server: false,
    can_silence: true,
    speaks_http: false,
    probe: || Ok(()),
    means: Means::Names(|options| {
        let (reply, what) = match options.failure {
            Failing::Fails => (Reply::Failed, "lookups of names fail (SERVFAIL)"),
            Failing::Refuses => (Reply::Refused, "lookups of names are refused (REFUSED)"),
            Failing::IsSilent => (Reply::Silence, "lookups of names get no reply"),
        };
        (reply, what.to_owned())
    }),
};
