//! The proof that idle connections were served.

use pitot_meter::Nanos;
use pitot_results::load::IdleCounts;

/// When each idle connection of a thread had its last reply in the measured part, and how many it had.
///
/// A slot keeps its entry when its connection is replaced: the time without one counts as a gap, too.
#[derive(Debug)]
pub(super) struct IdleLog {
    /// The slot of the first entry: idle connections have the last slots.
    first_slot: u32,
    /// The start of the measured part; `MAX` until it is known.
    from: Nanos,
    entries: Vec<Entry>,
    gap_max: Nanos,
}

/// Eight bytes: there may be a million of them.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// When the last reply came, milliseconds from the start of the measured part.
    last_ms: u32,
    replies: u32,
}

impl IdleLog {
    pub(super) fn new(first_slot: u32, count: usize) -> IdleLog {
        IdleLog { first_slot, from: Nanos::MAX, entries: vec![Entry::default(); count], gap_max: Nanos::ZERO }
    }

    /// The measured part starts at `from`.
    pub(super) fn begin(&mut self, from: Nanos) {
        self.from = from;
    }

    /// A right reply has come on a slot.
    pub(super) fn answered(&mut self, slot: u32, now: Nanos) {
        if now < self.from {
            return;
        }
        let now_ms = now.since(self.from).0 / Nanos::from_millis(1).0;
        let entry = &mut self.entries[(slot - self.first_slot) as usize];
        let gap_ms = now_ms - u64::from(entry.last_ms);
        // 49 days, after which gaps are too short to be counted in a `u32` anyway.
        *entry = Entry { last_ms: now_ms as u32, replies: entry.replies.saturating_add(1) };
        self.gap_max = self.gap_max.max(Nanos::from_millis(gap_ms));
    }

    /// The counts at the end of the measured part; `None` if it never began.
    pub(super) fn finish(&self, end: Nanos) -> Option<IdleCounts> {
        if self.from == Nanos::MAX || self.entries.is_empty() {
            return None;
        }
        let end_ms = end.since(self.from).0 / Nanos::from_millis(1).0;
        let last = self.entries.iter().map(|e| end_ms.saturating_sub(u64::from(e.last_ms))).max();
        let gap_max = self.gap_max.max(Nanos::from_millis(last.unwrap_or(0)));
        Some(IdleCounts {
            connections: self.entries.len() as u64,
            replies: self.entries.iter().map(|e| u64::from(e.replies)).sum(),
            replies_min: self.entries.iter().map(|e| u64::from(e.replies)).min().unwrap_or(0),
            gap_max_s: gap_max.as_secs_f64(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_gap_reaches_from_the_start_to_the_end() {
        let at = Nanos::from_secs;
        let mut log = IdleLog::new(7, 2);
        assert_eq!(log.finish(at(5)), None, "the measured part has not begun");
        log.begin(at(100));
        log.answered(7, at(99));
        log.answered(7, at(101));
        log.answered(8, at(104));
        log.answered(7, at(106));
        let counts = IdleCounts { connections: 2, replies: 3, replies_min: 1, gap_max_s: 5.0 };
        assert_eq!(log.finish(at(108)), Some(counts));
        assert_eq!(log.finish(at(112)), Some(IdleCounts { gap_max_s: 8.0, ..counts }));
        let mut silent = IdleLog::new(0, 1);
        silent.begin(at(100));
        assert_eq!(
            silent.finish(at(160)),
            Some(IdleCounts { connections: 1, gap_max_s: 60.0, ..IdleCounts::default() })
        );
    }
}
