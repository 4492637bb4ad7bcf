//! Limits the number and size of events.
//!
//! Each kind may have [`BURST`] events, and one more every [`REFILL_S`]: 2,116 in fourteen days. The next recorded event has the number
//! of suppressed ones. Evidence is truncated to [`EVIDENCE_BYTES`].

use std::collections::HashSet;

use pitot_record::soak::{Event, EventKind};

/// Maximum number of events of a kind at once.
pub const BURST: f64 = 100.0;
/// Seconds until another one is allowed.
pub const REFILL_S: f64 = 600.0;
/// Maximum length of evidence.
pub const EVIDENCE_BYTES: usize = 8192;

/// The limit for repeated events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    room: f64,
    refilled_at_s: f64,
    left_out: usize,
}

impl Bucket {
    pub(crate) fn full(now_s: f64) -> Bucket {
        Bucket { room: BURST, refilled_at_s: now_s, left_out: 0 }
    }

    /// If another event is allowed, the number of suppressed ones before it. Otherwise counts `count` as suppressed.
    pub(crate) fn take(&mut self, now_s: f64, count: usize) -> Option<usize> {
        self.room = (self.room + (now_s - self.refilled_at_s).max(0.0) / REFILL_S).min(BURST);
        self.refilled_at_s = self.refilled_at_s.max(now_s);
        if self.room < 1.0 {
            self.left_out += count;
            return None;
        }
        self.room -= 1.0;
        Some(std::mem::take(&mut self.left_out))
    }
}

/// Filters events before they are recorded.
#[derive(Debug, Default)]
pub(crate) struct EventGate {
    /// A list, since there are few kinds.
    buckets: Vec<(EventKind, Bucket)>,
    /// Recorded events that have not ended.
    open: HashSet<(EventKind, Option<i64>, u64)>,
}

impl EventGate {
    /// Keeps the allowed events.
    pub(crate) fn admit(&mut self, events: Vec<Event>, now_s: f64) -> Vec<Event> {
        events.into_iter().filter_map(|event| self.one(event, now_s)).collect()
    }

    fn one(&mut self, mut event: Event, now_s: f64) -> Option<Event> {
        let key = (event.kind, event.subject, event.at_s.to_bits());
        // The end of a recorded event is always allowed.
        if event.until_s.is_none() || !self.open.remove(&key) {
            let bucket = match self.buckets.iter().position(|(kind, _)| *kind == event.kind) {
                Some(index) => &mut self.buckets[index].1,
                None => {
                    self.buckets.push((event.kind, Bucket::full(now_s)));
                    &mut self.buckets.last_mut()?.1
                }
            };
            let left_out = bucket.take(now_s, 1)?;
            if left_out > 0 {
                event.evidence =
                    format!("{left_out} earlier events of this kind were suppressed\n{}", event.evidence);
            }
            if event.until_s.is_none() && event.kind.has_end() {
                self.open.insert(key);
            }
        }
        let is_output =
            matches!(event.kind, EventKind::ServerEnded | EventKind::RestartFailed | EventKind::LoadEnded);
        event.evidence = cut(event.evidence, is_output);
        Some(event)
    }
}

/// The begin of a text, or its end, since the last output of a program is the most useful.
fn cut(text: String, is_tail: bool) -> String {
    if text.len() <= EVIDENCE_BYTES {
        return text;
    }
    if is_tail {
        let from = text.ceil_char_boundary(text.len() - EVIDENCE_BYTES);
        format!("...{}", &text[from..])
    } else {
        format!("{}...", &text[..text.floor_char_boundary(EVIDENCE_BYTES)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: EventKind, at_s: f64, until_s: Option<f64>) -> Event {
        Event { at_s, until_s, subject: Some(1), kind, sentence: "x".into(), evidence: String::new() }
    }

    #[test]
    fn a_server_that_dies_without_end_fills_no_file_and_what_is_left_out_is_counted() {
        let mut gate = EventGate::default();
        let mut written = 0;
        // Two weeks of a death a minute.
        for minute in 0..14 * 1440u32 {
            let now_s = f64::from(minute) * 60.0;
            written += gate.admit(vec![event(EventKind::ServerEnded, now_s, None)], now_s).len();
        }
        assert!((2100..=2120).contains(&written), "{written}");
        let mut gate = EventGate::default();
        let all: Vec<Event> = (0..250).map(|_| event(EventKind::LoadEnded, 0.0, None)).collect();
        assert_eq!(gate.admit(all, 0.0).len(), 100);
        // Another kind has room of its own.
        assert_eq!(gate.admit(vec![event(EventKind::Lost, 1.0, None)], 1.0).len(), 1);
        let later = gate.admit(vec![event(EventKind::LoadEnded, 700.0, None)], 700.0);
        assert!(
            later[0].evidence.starts_with("150 earlier events of this kind were suppressed"),
            "{later:?}"
        );
    }

    #[test]
    fn the_end_of_an_event_that_was_written_is_written_and_that_of_another_is_not() {
        let mut gate = EventGate::default();
        let kind = EventKind::HangSilent;
        let begins: Vec<Event> = (0..101u32).map(|n| event(kind, f64::from(n), None)).collect();
        assert_eq!(gate.admit(begins, 101.0).len(), 100);
        let ends = vec![event(kind, 99.0, Some(101.0)), event(kind, 100.0, Some(101.0))];
        let told = gate.admit(ends, 101.0);
        assert!(matches!(&told[..], [only] if only.at_s == 99.0), "{told:?}");
    }

    #[test]
    fn evidence_is_cut_at_the_end_that_says_less() {
        let text = format!("first{}last", "ä".repeat(EVIDENCE_BYTES));
        let (head, tail) = (cut(text.clone(), false), cut(text, true));
        assert!(head.starts_with("first") && head.len() <= EVIDENCE_BYTES + 3);
        assert!(tail.ends_with("last") && tail.len() <= EVIDENCE_BYTES + 3);
        assert_eq!(cut("short".into(), true), "short");
    }
}
