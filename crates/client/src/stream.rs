//! Reproducible random numbers.

/// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014): each number is a mix of a counter,
/// so any seed is good.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream(u64);

impl Stream {
    pub(super) fn new(seed: u64) -> Stream {
        Stream(seed)
    }

    /// The next number; all of its bits are random.
    #[inline]
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number between 0 and 1, both excluded.
    #[inline]
    pub(super) fn unit(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// A number of a range, both ends included.
    #[inline]
    pub(super) fn within(&mut self, first: u64, last: u64) -> u64 {
        match (last - first).checked_add(1) {
            Some(count) => first + self.below(count),
            None => self.next(),
        }
    }

    /// A number of a range, both ends included.
    pub(super) fn within_signed(&mut self, first: i64, last: i64) -> i64 {
        first.wrapping_add(self.within(0, last.wrapping_sub(first) as u64) as i64)
    }

    /// A number below `end`, which is not 0.
    #[inline]
    pub(super) fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }
}
