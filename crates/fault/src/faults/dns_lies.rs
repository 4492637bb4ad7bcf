//! DNS replies are wrong.

use crate::entry::{Aim, Fault, Means, Reply};

pub(super) static FAULT: Fault = Fault {
    name: "dns-lies",
    summary: "Send wrong DNS replies: no such name, or another address.",
    doc: "Made by Pitot's resolver, `{resolver}` in plans. `lie` is `no-name` (NXDOMAIN for every name), or a loopback address for \
          every name, where nothing or another server listens. Open connections continue to work. Replies are not cached (TTL 0; no \
          SOA, RFC 2308).",
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
