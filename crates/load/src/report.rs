//! The result of a run, with what only this process has of it.

use std::collections::BTreeMap;
use std::time::SystemTime;

use pitot_meter::{Histogram, Nanos};
use pitot_results::load::{LoadResult, Smoothness};
use pitot_results::{Latencies, Latency, VerdictKind};

use pitot_drive::recorder::STALL;
use pitot_drive::tally::Tally;

/// The result of a run and the histograms that it was drawn from.
#[derive(Clone, Debug)]
pub struct Report {
    /// What is printed as JSON.
    pub result: LoadResult,
    /// The histograms of the latencies, for charts and the histogram log.
    pub recorded: Latencies<Histogram>,
}

impl Report {
    /// True if the run did what it was asked for and every gate is passed: exit code 0.
    pub fn is_success(&self) -> bool {
        let result = &self.result;
        let found = result.search.as_ref().is_none_or(|search| search.found_rps.is_some());
        let aborted = result.ended_early.as_deref().is_some_and(|why| why != INTERRUPTED);
        let stormed = result.storm.is_none_or(|storm| storm.established == storm.requested);
        // A condition is one on the whole run.
        let unjudged = result.ended_early.is_some() && !result.gates.is_empty();
        result.client.verdict != Some(VerdictKind::Failed)
            && found
            && !unjudged
            && stormed
            && !aborted
            && result.gates.iter().all(|g| !g.failed)
    }
}

/// What [`LoadResult::ended_early`] says when the user ended the run.
pub const INTERRUPTED: &str = "interrupted by the user";

/// How evenly replies flowed; `None` if each came in one piece.
pub(crate) fn smoothness(tally: &Tally) -> Option<Smoothness> {
    (tally.gaps.count() > 0).then(|| Smoothness {
        gap_ns: Latency::of(&tally.gaps),
        stall_ns_min: STALL.0,
        stalled_share: tally.stalled_ns as f64 / tally.flow_ns.max(1) as f64,
    })
}

/// The encoded histograms by their names.
pub(crate) fn encode(recorded: &Latencies<Histogram>) -> BTreeMap<String, String> {
    recorded.named().into_iter().map(|(name, histogram)| (name.to_owned(), histogram.encode())).collect()
}

/// The moment of the wall clock that a moment of the monotonic clock was.
pub(crate) fn wall_time(at: Nanos) -> SystemTime {
    SystemTime::now() - std::time::Duration::from(pitot_meter::now().since(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_counts_for_its_share_of_the_time_in_which_replies_flowed() {
        let mut tally = Tally::default();
        assert_eq!(smoothness(&tally), None);
        tally.gaps.record(Nanos::from_millis(150));
        (tally.flow_ns, tally.stalled_ns) = (600, 150);
        let smoothness = smoothness(&tally).unwrap();
        assert_eq!((smoothness.gap_ns.count, smoothness.stalled_share), (1, 0.25));
    }
}
