//! Names are looked up, and the answer is wrong.

use crate::entry::{Aim, Fault, Means, Reply};

pub(super) static FAULT: Fault = Fault {
    name: "dns-lies",
    summary: "Answer wrongly for names: there is none, or another address.",
    doc: "In a resolver of Pitot's own, `{resolver}` in plans, for those who ask it. `lie` is `no-name`, NXDOMAIN for every name, or an \
          address on loopback that every name then has: one at which nothing listens, or another server. Connections that are open go \
          on. Neither answer may be remembered (TTL 0; no SOA, RFC 2308).",
    aim: Aim::Names,
    takes: &["lie"],
    lasts_s: 1.0,
    is_moment: false,
    may_end_server: false,
    can_silence: true,
    speaks_http: false,
    probe: || Ok(()),
    means: Means::Names(|options| match options.lie {
        None => (Reply::NoName, "no name exists (NXDOMAIN)".to_owned()),
        Some(address) => (Reply::Address(address), format!("every name has the address {address}")),
    }),
};
