use pitot_meter::Nanos;

use super::entry::{Arrivals, OpenPace, Pace, PaceEntry, Uses, required_rate, seconds};
use crate::random::Random;
use crate::share::Share;

pub(super) const ENTRY: PaceEntry = PaceEntry {
    name: "poisson",
    summary: "requests arrive independently of each other (-R per second on average)",
    doc: "An open loop with exponentially distributed gaps, as many independent users produce them. It has bursts and \
          lulls, so queues form below capacity that evenly spaced arrivals would not show. The same --seed gives the \
          same arrivals.",
    uses: Uses { rate: true, think: false, stages: false, search: false, recorded: false },
    random: true,
    implied: |_| false,
    build: |options| Ok(Pace::Open(Box::new(Poisson { rate: required_rate(options, "poisson")? }))),
};

#[derive(Debug)]
struct Poisson {
    rate: f64,
}

impl OpenPace for Poisson {
    /// Each part is a Poisson process of its share of the rate; together they are one of the whole rate.
    fn arrivals(&self, share: Share, seed: u64) -> Arrivals {
        let mean_gap = share.count as f64 / self.rate;
        let mut random = Random::new(seed, share.index);
        let mut at = 0.0;
        Box::new(std::iter::from_fn(move || {
            at -= random.unit().ln() * mean_gap;
            Some(seconds(at))
        }))
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

    /// The Kolmogorov-Smirnov statistic of gaps against the exponential distribution, scaled by the root of their
    /// number; above 1.63 one in a hundred samples of such a distribution would be.
    fn distance(mut gaps: Vec<f64>, rate: f64) -> f64 {
        gaps.sort_unstable_by(f64::total_cmp);
        let n = gaps.len() as f64;
        let largest = gaps.iter().enumerate().fold(0.0f64, |largest, (i, gap)| {
            let expected = 1.0 - (-gap * rate).exp();
            largest.max(expected - i as f64 / n).max((i + 1) as f64 / n - expected)
        });
        largest * n.sqrt()
    }

    fn gaps(times: &[Nanos]) -> Vec<f64> {
        times.windows(2).map(|pair| pair[1].since(pair[0]).as_secs_f64()).collect()
    }

    #[test]
    fn gaps_are_exponential() {
        for seed in 1..6 {
            let times: Vec<Nanos> =
                Poisson { rate: 5000.0 }.arrivals(Share::WHOLE, seed).take(20_001).collect();
            let distance = distance(gaps(&times), 5000.0);
            assert!(distance < 1.63, "seed {seed}: {distance}");
        }
    }

    #[test]
    fn gaps_of_all_threads_together_are_exponential() {
        let pace = Poisson { rate: 8000.0 };
        let end = Nanos::from_secs(3);
        let mut times: Vec<Nanos> = (0..4)
            .flat_map(|index| pace.arrivals(Share { index, count: 4 }, 11).take_while(|&at| at < end))
            .collect();
        times.sort_unstable();
        let distance = distance(gaps(&times), 8000.0);
        assert!(distance < 1.63, "{distance}");
    }

    #[test]
    fn the_test_of_gaps_can_fail() {
        let even: Vec<Nanos> = (0..20_001).map(|n| Nanos::from_micros(n * 200)).collect();
        assert!(distance(gaps(&even), 5000.0) > 10.0);
        let slow: Vec<Nanos> = Poisson { rate: 4800.0 }.arrivals(Share::WHOLE, 1).take(20_001).collect();
        assert!(distance(gaps(&slow), 5000.0) > 1.63);
    }

    #[test]
    fn counts_in_equal_times_vary_as_they_should() {
        // Index of dispersion: the variance of a Poisson count equals its mean.
        let mut counts = [0f64; 1000];
        for at in (Poisson { rate: 20_000.0 }).arrivals(Share::WHOLE, 3) {
            match counts.get_mut((at.0 / 1_000_000) as usize) {
                Some(count) => *count += 1.0,
                None => break,
            }
        }
        let mean = counts.iter().sum::<f64>() / 1000.0;
        let variance = counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / 999.0;
        assert!((variance / mean - 1.0).abs() < 0.15, "{}", variance / mean);
    }
}
