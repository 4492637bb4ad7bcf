/// A fast generator of random numbers whose sequence depends on the seed alone: xoshiro256++ by Blackman and Vigna
/// (prng.di.unimi.it), seeded by splitmix64 as they advise.
#[derive(Clone, Debug)]
pub struct Random([u64; 4]);

impl Random {
    /// The generator number `stream` of the run seeded with `seed`; streams do not overlap in practice.
    pub fn new(seed: u64, stream: u64) -> Random {
        let mut splitmix = pitot_meter::Random::new(seed ^ stream.wrapping_mul(0xd1b5_4a32_d192_ed03));
        Random(std::array::from_fn(|_| splitmix.next_u64()))
    }

    /// Any number, each as likely as the others.
    #[inline]
    pub fn next(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A number above 0 and up to 1.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_and_a_stream_make_one_sequence() {
        let take = |seed, stream| -> Vec<u64> {
            let mut random = Random::new(seed, stream);
            (0..4).map(|_| random.next()).collect()
        };
        assert_eq!(take(1, 0), take(1, 0));
        assert_ne!(take(1, 0), take(2, 0));
        assert_ne!(take(1, 0), take(1, 1));
    }

    #[test]
    fn units_are_spread_evenly() {
        let mut random = Random::new(7, 0);
        let mut bins = [0u32; 10];
        for _ in 0..100_000 {
            let unit = random.unit();
            assert!(unit > 0.0 && unit <= 1.0);
            bins[((unit * 10.0) as usize).min(9)] += 1;
        }
        assert!(bins.iter().all(|&n| (9_600..10_400).contains(&n)), "{bins:?}");
    }
}
