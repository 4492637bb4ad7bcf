//! How long users think: think times are means, around which those of single users may vary.

use pitot_meter::Nanos;

use crate::random::Random;

/// How think times vary around their mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThinkTimes {
    /// Not at all.
    #[default]
    Constant,
    /// From half of the mean to one and a half of it, each as likely as the others.
    Uniform,
    /// Exponentially, as if each moment were as likely as any other to be the last: most are short, and one in twenty
    /// is three times the mean or longer.
    Exponential,
}

impl ThinkTimes {
    /// The words of `--think-times`.
    pub const WORDS: [(&'static str, ThinkTimes); 3] = [
        ("constant", ThinkTimes::Constant),
        ("uniform", ThinkTimes::Uniform),
        ("exponential", ThinkTimes::Exponential),
    ];

    /// The word.
    pub fn word(self) -> &'static str {
        ThinkTimes::WORDS.iter().find(|(_, times)| *times == self).map_or("", |(word, _)| word)
    }

    /// The next think time of a user whose mean is that; never zero if the mean is not.
    pub fn draw(self, mean: Nanos, random: &mut Random) -> Nanos {
        let factor = match self {
            ThinkTimes::Constant => return mean,
            ThinkTimes::Uniform => 0.5 + random.unit(),
            ThinkTimes::Exponential => -random.unit().ln(),
        };
        Nanos(((mean.0 as f64 * factor) as u64).max(mean.0.min(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_the_time_that_was_asked_for_and_the_spread_is_that_of_the_word() {
        const MEAN: Nanos = Nanos::from_millis(100);
        let spread = |times: ThinkTimes| {
            let mut random = Random::new(1, 0);
            let drawn: Vec<f64> = (0..50_000).map(|_| times.draw(MEAN, &mut random).0 as f64 / 1e8).collect();
            let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
            assert!((0.98..1.02).contains(&mean), "{times:?}: {mean}");
            (drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / drawn.len() as f64).sqrt()
        };
        assert_eq!(spread(ThinkTimes::Constant), 0.0);
        assert!((0.28..0.30).contains(&spread(ThinkTimes::Uniform)));
        assert!((0.97..1.03).contains(&spread(ThinkTimes::Exponential)));
        assert_eq!(ThinkTimes::Exponential.draw(Nanos::ZERO, &mut Random::new(1, 0)), Nanos::ZERO);
    }
}
