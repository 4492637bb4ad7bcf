//! A fixed piece of work, to see how fast a CPU is at the moment.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Nanos, now};

/// Steps of a lap: some half a microsecond.
const STEPS: u64 = 300;
/// Steps before the laps. They bring the words into the cache of the core, as another program has just left it.
const WARM_UP_STEPS: u64 = 500;
/// Words that a piece reads and writes: half of the smallest first-level cache.
const WORDS: usize = 4_096;
/// Laps, an odd number.
const LAPS: usize = 7;
/// Messages that a lap fetches, one after the other.
const FETCHED: usize = 2;
/// Words of a page: prefetchers do not cross pages.
const PAGE: usize = 512;

/// What another CPU writes, and the work fetches: messages, as they go from a load generator to a server.
#[derive(Debug)]
pub struct Messages {
    words: Box<[AtomicU64]>,
}

impl Default for Messages {
    fn default() -> Messages {
        Messages { words: (0..(1 + LAPS * FETCHED) * PAGE).map(|_| AtomicU64::new(0)).collect() }
    }
}

impl Messages {
    /// Writes them, so that they are in the cache of this CPU and in no other.
    pub fn write(&self) {
        for number in 0..LAPS * FETCHED {
            self.words[place(number)].fetch_add(1, Ordering::Relaxed);
        }
        self.words[0].fetch_add(1, Ordering::Release);
    }

    fn written(&self) -> u64 {
        self.words[0].load(Ordering::Acquire)
    }

    /// Fetches those of a lap, each when the one before is there: all are the same number.
    fn fetch(&self, lap: usize) -> u64 {
        let next = |message: u64, number: usize| {
            let same = (message ^ black_box(message)) as usize;
            self.words[place(lap * FETCHED + number) ^ same].load(Ordering::Relaxed)
        };
        (0..FETCHED).fold(0, next)
    }
}

/// Where a message is: in a page and a line of its own, in no order that a prefetcher could guess.
fn place(number: usize) -> usize {
    const PAGES: usize = LAPS * FETCHED;
    (1 + number * 5 % PAGES) * PAGE + (number * 29 + 11) % 64 * 8
}

/// Work that is the same each time, whatever else runs on the CPU. As in a server, each lap takes messages from another CPU: they come
/// six times as slowly where the two CPUs do not share a cache. It goes on with additions and multiplications that do not wait for each
/// other, and loads and stores: what waits for one result after the other hardly notices who shares its core.
#[derive(Debug)]
pub struct FixedWork {
    words: Vec<u32>,
    messages: u64,
}

impl Default for FixedWork {
    fn default() -> FixedWork {
        FixedWork { words: vec![1; WORDS], messages: 0 }
    }
}

impl FixedWork {
    /// Does a piece, and returns what it takes if each lap takes as long as the median one. Interrupts, of which some programs get
    /// more than others, are in few laps. Who shares the core is in all. None if the messages are those of the last piece.
    pub fn piece(&mut self, messages: &Messages) -> Option<Nanos> {
        let written = messages.written();
        if std::mem::replace(&mut self.messages, written) == written {
            return None;
        }
        black_box(self.steps(WARM_UP_STEPS, written));
        let mut laps = std::array::from_fn::<_, LAPS, _>(|lap| {
            let before = now();
            black_box(self.steps(STEPS, messages.fetch(lap)));
            now().since(before)
        });
        laps.sort_unstable();
        Some(Nanos(laps[LAPS / 2].0 * LAPS as u64))
    }

    fn steps(&mut self, steps: u64, message: u64) -> u64 {
        let [mut a, mut b, mut c, mut d, mut e, mut f] = [message, 2, 3, 4, 5, 6];
        // The first address is known when the message is there.
        let mut at = message as usize % WORDS;
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
    fn a_piece_takes_microseconds_and_new_messages() {
        let (mut work, messages) = (FixedWork::default(), Messages::default());
        let mut piece = || {
            messages.write();
            work.piece(&messages).unwrap()
        };
        let least = (0..20).map(|_| piece()).min().unwrap();
        assert!((Nanos(300)..Nanos::from_millis(1)).contains(&least), "{least:?}");
        assert_eq!(work.piece(&messages), None);
    }
}
