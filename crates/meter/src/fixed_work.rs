//! A fixed piece of work, to see how fast a CPU is at the moment.

use std::hint::black_box;

use crate::{Nanos, now};

/// Steps of a lap: some half a microsecond.
const STEPS: u64 = 300;
/// Laps of a piece, which has some four microseconds with its warm-up.
const LAPS: usize = 7;
/// Steps before the laps. They bring the words into the cache of the core, as another program has just left it.
const WARM_UP_STEPS: u64 = 500;
/// Words that a piece reads and writes: half of the smallest first-level cache.
const WORDS: usize = 4_096;

/// Work that is the same each time, whatever else runs on the CPU: additions and multiplications that do not wait for each other, with loads and stores, as in
/// most programs. What waits for one result after the other hardly notices who shares its core.
#[derive(Debug)]
pub struct FixedWork {
    words: Vec<u32>,
}

impl Default for FixedWork {
    fn default() -> FixedWork {
        FixedWork { words: vec![1; WORDS] }
    }
}

impl FixedWork {
    /// Does a piece, and returns what it takes if each lap takes as long as the median one. Interrupts, of which some programs get
    /// more than others, are in few laps. Who shares the core is in all.
    pub fn piece(&mut self) -> Nanos {
        black_box(self.steps(WARM_UP_STEPS));
        let mut laps = [Nanos::ZERO; LAPS];
        for lap in &mut laps {
            let before = now();
            black_box(self.steps(STEPS));
            *lap = now().since(before);
        }
        laps.sort_unstable();
        Nanos(laps[LAPS / 2].0 * LAPS as u64)
    }

    fn steps(&mut self, steps: u64) -> u64 {
        let [mut a, mut b, mut c, mut d, mut e, mut f] = [1u64, 2, 3, 4, 5, 6];
        let mut at = 0;
        for step in 0..steps {
            a = a.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            b = b.wrapping_add(u64::from(self.words[at % WORDS]) ^ a);
            c = (c << 5) ^ (c >> 3) ^ b;
            d = d.wrapping_add(c.wrapping_add(step));
            e ^= d >> 7;
            f = f.wrapping_add(e.wrapping_mul(3));
            self.words[(at + 64) % WORDS] = f as u32;
            at += 17;
        }
        a ^ b ^ c ^ d ^ e ^ f
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_takes_microseconds() {
        let mut work = FixedWork::default();
        let least = (0..20).map(|_| work.piece()).min().unwrap();
        assert!((Nanos(300)..Nanos::from_millis(1)).contains(&least), "{least:?}");
    }
}
