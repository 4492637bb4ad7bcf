use pitot_meter::Nanos;

use super::entry::{Arrivals, OpenPace, Pace, PaceEntry, Uses, required_rate, seconds};
use crate::share::Share;

pub(super) const ENTRY: PaceEntry = PaceEntry {
    name: "constant",
    summary: "requests are due at even intervals (-R per second in total)",
    doc: "An open loop: request number n is due n/R seconds after the start, whatever the server does. Response times \
          are measured from that moment, so a stall shows in every request that should have been sent during it.",
    uses: Uses { rate: true, think: false, stages: false, search: false, recorded: false },
    random: false,
    implied: |options| options.rate.is_some(),
    build: |options| Ok(Pace::Open(Box::new(Constant { rate: required_rate(options, "constant")? }))),
};

/// Arrivals at even intervals.
#[derive(Clone, Copy, Debug)]
pub struct Constant {
    /// Arrivals per second in all.
    pub rate: f64,
}

impl OpenPace for Constant {
    fn arrivals(&self, share: Share, _: u64) -> Arrivals {
        let rate = self.rate;
        // Parts take turns, so that together they are as even as one would be.
        Box::new((0u64..).map(move |n| seconds((n * share.count + share.index) as f64 / rate)))
    }

    fn expected(&self, at: Nanos) -> f64 {
        at.as_secs_f64() * self.rate
    }

    fn length(&self) -> Option<Nanos> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_take_turns_at_even_distances() {
        let pace = Constant { rate: 1000.0 };
        let mut all: Vec<Nanos> =
            (0..3).flat_map(|index| pace.arrivals(Share { index, count: 3 }, 0).take(100)).collect();
        all.sort_unstable();
        assert_eq!(all, (0..300).map(Nanos::from_millis).collect::<Vec<_>>());
    }

    #[test]
    fn an_odd_rate_does_not_drift() {
        let mut arrivals = Constant { rate: 7.0 }.arrivals(Share::WHOLE, 0);
        assert_eq!(arrivals.nth(7 * 86_400), Some(Nanos::from_secs(86_400)));
    }
}
