use std::sync::Arc;

use pitot_meter::Nanos;

use super::entry::{Arrivals, OpenPace, Pace, PaceEntry, Uses, seconds};
use super::recorded::Recorded;
use crate::share::Share;

pub(super) const ENTRY: PaceEntry = PaceEntry {
    name: "replay",
    summary: "requests are due at the times of an access log (--replay FILE)",
    doc: "An open loop: the first line of the log is due at the start, and each other one as long after it as the log \
          says, divided by --speed. The times of a log are whole seconds, so that the requests of a second are spread \
          evenly over it. The run ends with the last second of the log.",
    uses: Uses { rate: false, think: false, stages: false, search: false, recorded: true },
    random: false,
    implied: |options| options.recorded.is_some(),
    build: |options| {
        let Recorded { seconds, speed } =
            options.recorded.clone().ok_or("the pace `replay` needs a log (--replay FILE)")?;
        Ok(Pace::Open(Box::new(Replay { seconds, speed })))
    },
};

#[derive(Debug)]
struct Replay {
    seconds: Arc<[u32]>,
    speed: f64,
}

impl OpenPace for Replay {
    /// Parts take lines in turn, so that line number n is that of request number n of the run.
    fn arrivals(&self, share: Share, _: u64) -> Arrivals {
        let (all, speed) = (Arc::clone(&self.seconds), self.speed);
        // The lines of the present second.
        let mut group = 0..0;
        Box::new((0u64..).map_while(move |n| {
            let line = usize::try_from(n * share.count + share.index).ok()?;
            let second = *all.get(line)?;
            if !group.contains(&line) {
                let start = group.end + all[group.end..].partition_point(|&s| s < second);
                group = start..start + all[start..].partition_point(|&s| s == second);
            }
            let within = (line - group.start) as f64 / group.len() as f64;
            Some(seconds((f64::from(second) + within) / speed))
        }))
    }

    fn expected(&self, at: Nanos) -> f64 {
        let time = at.as_secs_f64() * self.speed;
        let before = self.seconds.partition_point(|&s| f64::from(s) < time.floor());
        let in_second = self.seconds[before..].partition_point(|&s| f64::from(s) <= time.floor());
        before as f64 + in_second as f64 * time.fract()
    }

    fn length(&self) -> Option<Nanos> {
        self.seconds.last().map(|&last| seconds((f64::from(last) + 1.0) / self.speed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replay(seconds: &[u32], speed: f64) -> Replay {
        Replay { seconds: seconds.into(), speed }
    }

    fn times(pace: &Replay, share: Share) -> Vec<u64> {
        pace.arrivals(share, 1).map(|at| at.0 / 1_000_000).collect()
    }

    #[test]
    fn lines_of_a_second_are_spread_over_it() {
        let pace = replay(&[0, 0, 2, 3, 3, 3, 3], 1.0);
        assert_eq!(times(&pace, Share::WHOLE), [0, 500, 2000, 3000, 3250, 3500, 3750]);
        assert_eq!(pace.length(), Some(Nanos::from_secs(4)));
        let fast = replay(&[0, 0, 2, 3, 3, 3, 3], 2.0);
        assert_eq!(times(&fast, Share::WHOLE), [0, 250, 1000, 1500, 1625, 1750, 1875]);
        assert_eq!(fast.length(), Some(Nanos::from_secs(2)));
    }

    #[test]
    fn parts_are_the_whole_schedule_line_by_line() {
        let pace = replay(&[0, 1, 1, 1, 5, 5, 9, 9, 9, 9, 9, 12], 0.5);
        let whole = times(&pace, Share::WHOLE);
        for count in [2, 3, 5, 20] {
            for index in 0..count {
                let wanted: Vec<u64> =
                    whole.iter().skip(index as usize).step_by(count as usize).copied().collect();
                assert_eq!(times(&pace, Share { index, count }), wanted, "{index} of {count}");
            }
        }
    }

    #[test]
    fn what_is_expected_is_what_arrives() {
        let pace = replay(&[0, 0, 2, 3, 3, 3, 3], 1.0);
        let arrivals = times(&pace, Share::WHOLE);
        for at in (0..5000).step_by(250) {
            let arrived = arrivals.iter().filter(|&&a| a < at).count() as f64;
            let expected = pace.expected(Nanos::from_millis(at));
            assert!((expected - arrived).abs() <= 1.0, "{at}: {expected} {arrived}");
        }
        assert_eq!(pace.expected(Nanos::from_secs(100)), 7.0);
    }
}
