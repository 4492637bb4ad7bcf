//! Throttled CPUs, for heat or by a control group's limit (`pitot_host::throttle_count`).

use pitot_meter::units::counted;

use pitot_record::soak::{Event, EventKind};

/// Shortest time between events, seconds: a control group's limit acts many times a second.
const INTERVAL_S: f64 = 60.0;

/// Watches the counters.
#[derive(Debug, Default)]
pub(crate) struct ThrottleWatch {
    known: Option<u64>,
    told_at_s: Option<f64>,
}

impl ThrottleWatch {
    /// The event, if the count has risen since the last one.
    pub(crate) fn look(&mut self, count: u64, now_s: f64) -> Option<Event> {
        let known = *self.known.get_or_insert(count);
        if count < known {
            self.known = Some(count);
        }
        let is_due = self.told_at_s.is_none_or(|at_s| now_s - at_s >= INTERVAL_S);
        if count <= known || !is_due {
            return None;
        }
        (self.known, self.told_at_s) = (Some(count), Some(now_s));
        let times = counted(count - known, "time", "times");
        Some(Event {
            at_s: now_s,
            until_s: None,
            subject: None,
            kind: EventKind::Throttled,
            sentence: format!("CPUs were throttled {times}, for heat or by a control group's limit"),
            evidence: String::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_that_rises_is_told_once_a_minute_with_what_has_come_together() {
        let mut watch = ThrottleWatch::default();
        assert_eq!(watch.look(5, 0.0), None);
        assert!(watch.look(6, 10.0).unwrap().sentence.contains("throttled 1 time,"));
        assert_eq!(watch.look(8, 20.0), None);
        assert_eq!(watch.look(8, 60.0), None);
        assert!(watch.look(9, 70.0).unwrap().sentence.contains("throttled 3 times"));
        assert_eq!(watch.look(9, 200.0), None);
    }
}
