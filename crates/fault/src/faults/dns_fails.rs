//! DNS lookups fail.

use crate::entry::{Aim, Fault, Means, Reply};
use crate::options::Failing;

pub(super) static FAULT: Fault = Fault {
    name: "dns-fails",
    summary: "Let DNS lookups fail: the resolver fails, refuses or does not reply.",
    doc: "Made by Pitot's resolver, `{resolver}` in plans. `failure` says how: SERVFAIL, REFUSED, or no reply, so that clients wait and \
          repeat the query. Open connections continue to work. Replies are not cached (TTL 0), so the fault begins and ends at once.",
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
            Failing::Fails => (Reply::Failed, "DNS lookups fail (SERVFAIL)"),
            Failing::Refuses => (Reply::Refused, "DNS lookups are refused (REFUSED)"),
            Failing::IsSilent => (Reply::Silence, "DNS lookups get no reply"),
        };
        (reply, what.to_owned())
    }),
};
