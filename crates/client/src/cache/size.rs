//! The lengths of keys and values.

use crate::stream::Stream;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Size {
    Fixed(u64),
    /// Uniform, both ends included.
    Uniform(u64, u64),
    /// The keys of Facebook's ETC pool.
    EtcKey,
    /// The values of Facebook's ETC pool.
    EtcValue,
}

/// How often ETC has values of 0 to 14 bytes (Atikoglu, Xu, Frachtenberg, Jiang, Paleczny, "Workload analysis of a
/// large-scale key-value store", SIGMETRICS 2012, section 5).
const ETC_SHORT_VALUES: [f64; 15] = [
    0.00536, 0.00047, 0.17820, 0.09239, 0.00018, 0.02740, 0.00065, 0.00606, 0.00023, 0.00837, 0.00837,
    0.08989, 0.00092, 0.00326, 0.01980,
];

impl Size {
    pub(crate) fn draw(self, random: &mut Stream) -> u64 {
        match self {
            Size::Fixed(n) => n,
            Size::Uniform(first, last) => first + random.below(last - first + 1),
            // The same paper: a generalized extreme value distribution for keys, and beyond 14 bytes a generalized
            // Pareto distribution for values; both drawn by the inverse of their distribution function.
            Size::EtcKey => {
                let (location, scale, shape) = (30.7984, 8.20449, 0.078688);
                let exponential = -random.unit().ln();
                (location + scale * (exponential.powf(-shape) - 1.0) / shape).round().max(1.0) as u64
            }
            Size::EtcValue => {
                let mut at = random.unit();
                for (len, share) in ETC_SHORT_VALUES.iter().enumerate() {
                    if at < *share {
                        return len as u64;
                    }
                    at -= share;
                }
                let (location, scale, shape) = (15.0, 214.476, 0.348238);
                (location + scale * (random.unit().powf(-shape) - 1.0) / shape) as u64
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(size: Size) -> Vec<u64> {
        let mut random = Stream::new(7);
        let mut all: Vec<u64> = (0..100_000).map(|_| size.draw(&mut random)).collect();
        all.sort_unstable();
        all
    }

    fn mean(all: &[u64]) -> f64 {
        all.iter().sum::<u64>() as f64 / all.len() as f64
    }

    #[test]
    fn a_uniform_size_has_both_its_ends() {
        let all = sample(Size::Uniform(3, 6));
        assert_eq!((all[0], all[all.len() - 1]), (3, 6));
        assert!((mean(&all) - 4.5).abs() < 0.02);
        assert_eq!(sample(Size::Fixed(5))[0], 5);
    }

    #[test]
    fn keys_of_etc_are_as_published() {
        let all = sample(Size::EtcKey);
        // The mean of the distribution: location + scale * (gamma(1 - shape) - 1) / shape, with gamma 1.0504.
        assert!((mean(&all) - 36.05).abs() < 0.2, "{}", mean(&all));
        // Its median: location + scale * (ln(2)^-shape - 1) / shape.
        assert_eq!(all[all.len() / 2], 34);
    }

    #[test]
    fn values_of_etc_are_as_published() {
        let all = sample(Size::EtcValue);
        let short = all.partition_point(|&len| len < 15) as f64 / all.len() as f64;
        assert!((short - ETC_SHORT_VALUES.iter().sum::<f64>()).abs() < 0.01, "{short}");
        let two = all.iter().filter(|&&len| len == 2).count() as f64 / all.len() as f64;
        assert!((two - 0.1782).abs() < 0.005, "{two}");
        let long: Vec<u64> = all.into_iter().filter(|&len| len >= 15).collect();
        // The mean of the Pareto part: location + scale / (1 - shape); half a byte is cut off.
        assert!((mean(&long) - 343.6).abs() < 12.0, "{}", mean(&long));
    }
}
