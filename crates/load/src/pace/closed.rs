use pitot_meter::Nanos;

use super::entry::{Pace, PaceEntry, Uses};

pub(super) const ENTRY: PaceEntry = PaceEntry {
    name: "closed",
    summary: "each connection sends its next request when the last one is answered",
    doc: "As many requests are under way as there are connections (times --pipeline), and a server that slows down is \
          asked less: throughput is the server's, and response times are those of a few patient users. --think \
          makes each wait between a reply and the next request.",
    uses: Uses { rate: false, think: true, stages: false, search: false },
    random: false,
    implied: |_| true,
    build: |options| Ok(Pace::Closed { think: options.think.unwrap_or(Nanos::ZERO) }),
};
