use crate::{Histogram, Nanos};

/// The upper bounds, nanoseconds: 1, 2 and 5 of each power of ten, from 10 us to 10 s, and the timeouts that people choose.
pub const BOUNDS_NS: [u64; 21] = [
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
    2_000_000_000,
    5_000_000_000,
    10_000_000_000,
    30_000_000_000,
    60_000_000_000,
];

/// The samples of histograms in few buckets with fixed bounds, for systems that have no finer ones.
///
/// A sample is in the first bucket whose bound it does not exceed, to the resolution of [`Histogram`], one part in a thousand: those
/// that the histogram does not tell from the bound are below it. Buckets of histograms add up to the buckets of the merged one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buckets {
    counts: [u64; BOUNDS_NS.len()],
    /// Samples above the last bound.
    above: u64,
    sum_ns: u128,
}

impl Buckets {
    /// Adds all samples of a histogram: one pass over it, some ten microseconds.
    pub fn add(&mut self, histogram: &Histogram) {
        let counts = &histogram.0;
        let mut bucket = 0;
        for step in counts.iter_recorded() {
            let (value, count) = (step.value_iterated_to(), step.count_since_last_iteration());
            let lowest = counts.lowest_equivalent(value);
            while BOUNDS_NS.get(bucket).is_some_and(|bound| lowest > *bound) {
                bucket += 1;
            }
            *self.counts.get_mut(bucket).unwrap_or(&mut self.above) += count;
            self.sum_ns += u128::from(counts.median_equivalent(value)) * u128::from(count);
        }
    }

    /// The upper bounds with the samples of each bucket alone; the last one has no bound.
    pub fn each(&self) -> impl Iterator<Item = (Option<Nanos>, u64)> {
        let bounded = BOUNDS_NS.iter().zip(self.counts).map(|(bound, count)| (Some(Nanos(*bound)), count));
        bounded.chain([(None, self.above)])
    }

    /// The number of samples.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum::<u64>() + self.above
    }

    /// The sum of all samples, each as the middle of the values that the histogram does not tell apart, nanoseconds.
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_have_the_counts_of_the_histogram() {
        let mut histogram = Histogram::new();
        for nanos in (0..5_000_000_000u64).step_by(7_919_333).chain([0, 1, 70_000_000_000, 9_999, 10_001]) {
            histogram.record(Nanos(nanos));
        }
        let mut buckets = Buckets::default();
        buckets.add(&histogram);
        let mut below = 0;
        for (bound, count) in buckets.each() {
            below += count;
            match bound {
                Some(bound) => assert_eq!(below, histogram.0.count_between(0, bound.0), "{bound}"),
                None => assert_eq!(below, histogram.count()),
            }
        }
        assert_eq!(buckets.count(), histogram.count());
        let mean = buckets.sum_ns() as f64 / buckets.count() as f64;
        assert!((mean / histogram.mean().0 as f64 - 1.0).abs() < 1e-6, "{mean}");
    }

    #[test]
    fn a_sample_of_a_bound_is_below_it() {
        for bound in BOUNDS_NS {
            let (mut histogram, mut buckets) = (Histogram::new(), Buckets::default());
            histogram.record(Nanos(bound));
            buckets.add(&histogram);
            let found = buckets.each().find(|(_, count)| *count > 0);
            assert_eq!(found, Some((Some(Nanos(bound)), 1)));
        }
    }

    #[test]
    fn buckets_of_seconds_add_up_to_those_of_the_whole() {
        let (mut whole, mut added, mut of_whole) = (Histogram::new(), Buckets::default(), Buckets::default());
        for second in 1..20u64 {
            let mut part = Histogram::new();
            (0..100).for_each(|n| part.record(Nanos(second * second * 77_777 * n)));
            added.add(&part);
            whole.merge(&part);
        }
        of_whole.add(&whole);
        assert_eq!(added, of_whole);
    }
}
