use pitot_meter::Nanos;

use super::entry::{Pace, PaceEntry, Uses};

pub(super) const ENTRY: PaceEntry = PaceEntry {
    name: "closed",
    summary: "each connection sends its next request after the last reply",
    doc: "As many requests are in flight as there are connections (times --pipeline), so a slow server receives fewer \
          requests: throughput is what the server achieves, and response times are those of a fixed number of users \
          who wait for every reply. --think adds a pause between a reply and the next request.",
    uses: Uses { rate: false, think: true, stages: false, search: false, recorded: false },
    random: false,
    implied: |_| true,
    build: |options| Ok(Pace::Closed { think: options.think.unwrap_or(Nanos::ZERO) }),
};
