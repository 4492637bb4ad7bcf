use pitot_meter::Nanos;

use super::{Pace, PaceEntry, refuse};

pub(super) const ENTRY: PaceEntry = PaceEntry {
    name: "closed",
    summary: "each connection sends its next request when the last one is answered",
    doc: "As many requests are under way as there are connections (times --pipeline), and a server that slows down is \
          asked less: throughput is the server's, and response times are those of a few patient users. --think \
          makes each wait between a reply and the next request.",
    build: |options| {
        refuse(&[("-R", options.rate.is_some())], "closed")?;
        Ok(Pace::Closed { think: options.think.unwrap_or(Nanos::ZERO) })
    },
};
