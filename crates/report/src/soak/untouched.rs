//! The intervals that are judged for drift: those without faults and outages of the server. A stopped or restarted server does not
//! show how it ages. Times and rates are not judged where other processes used the CPUs, CPUs were throttled or the clock was set either.

use pitot_record::Soak;
use pitot_record::metric::Meaning;
use pitot_record::soak::{Event, EventKind, Fault};

use super::series::Series;

/// An interval that begins so soon after a fault belongs to it, seconds: connections reopen, and work is caught up.
const AFTER_S: f64 = 2.0;
/// After an outage, this share of its length is added.
const AFTER_SHARE: f64 = 0.1;
/// The last reply may have come this long before a hang is recorded, seconds.
const SILENT_BEFORE_S: f64 = 4.0;
/// If less than this share of the intervals would remain, intervals with faults, or beside others, are judged too.
const SHARE_MIN: f64 = 0.5;

/// The series without the intervals of outages of the server, and of faults that were made to it.
pub(super) fn untouched(series: &[Series], soak: &Soak, subject: i64) -> Vec<Series> {
    let outages = outages(soak, subject);
    let faults = faults(&soak.faults, subject);
    let disturbed = disturbed(&soak.events);
    series
        .iter()
        .map(|series| {
            let up = without(series, &outages);
            let left = unless_few(&up, &faults).unwrap_or(up);
            match series.figure.meaning {
                Meaning::Time | Meaning::Cost | Meaning::Pace => {
                    unless_few(&left, &disturbed).unwrap_or(left)
                }
                Meaning::Leak | Meaning::Drift | Meaning::Context => left,
            }
        })
        .collect()
}

/// The series without these stretches, if enough of it is left.
fn unless_few(series: &Series, stretches: &[(f64, f64)]) -> Option<Series> {
    let free = without(series, stretches);
    (free.points.len() as f64 >= SHARE_MIN * series.points.len() as f64).then_some(free)
}

/// When something else than its server and its load kept the machine busy.
fn disturbed(events: &[Event]) -> Vec<(f64, f64)> {
    let is_one = |event: &&Event| {
        matches!(event.kind, EventKind::Neighbours | EventKind::Throttled | EventKind::ClockStep)
    };
    let until_s = |event: &Event| match event.kind.has_end() {
        true => event.until_s.unwrap_or(f64::INFINITY),
        false => event.at_s,
    };
    events.iter().filter(is_one).map(|event| (event.at_s, until_s(event) + AFTER_S)).collect()
}

fn faults(faults: &[Fault], subject: i64) -> Vec<(f64, f64)> {
    let made = faults.iter().filter(|fault| fault.subject == subject && fault.was_made);
    made.map(|fault| (fault.at_s, fault.until_s.unwrap_or(f64::INFINITY) + AFTER_S)).collect()
}

/// When the server was away or did not answer, and when there was no load.
fn outages(soak: &Soak, subject: i64) -> Vec<(f64, f64)> {
    let stretch = |event: &Event| {
        let (from, until) = match event.kind {
            EventKind::Gap => (event.at_s, event.until_s?),
            _ if event.subject != Some(subject) => return None,
            EventKind::ServerEnded => (event.at_s, back_s(soak, subject, event.at_s)),
            kind if kind.is_hang() || kind == EventKind::LoadUnanswered => {
                (event.at_s - SILENT_BEFORE_S, event.until_s.unwrap_or(f64::INFINITY))
            }
            _ => return None,
        };
        Some((from, until + AFTER_S + AFTER_SHARE * (until - from)))
    };
    soak.events.iter().filter_map(stretch).collect()
}

/// When a server was back: when it was restarted, or answered, if something else restarted it.
fn back_s(soak: &Soak, subject: i64, ended_s: f64) -> f64 {
    let restarts = soak.events.iter().filter(|event| {
        event.kind == EventKind::ServerRestarted && event.subject == Some(subject) && event.at_s >= ended_s
    });
    let started = restarts.map(|event| event.at_s).fold(f64::INFINITY, f64::min);
    if started.is_finite() {
        return started;
    }
    let is_own = |load: i64| soak.loads_of(subject).any(|own| own.id == load);
    let answered = soak
        .intervals
        .iter()
        .filter(|interval| interval.start_s >= ended_s && interval.completed > 0 && is_own(interval.load));
    answered.map(|interval| interval.start_s).fold(f64::INFINITY, f64::min)
}

fn without(series: &Series, stretches: &[(f64, f64)]) -> Series {
    let all = &series.points;
    let is_free = |index: &usize| {
        let (from, to) = series.stretch_s(*index);
        stretches.iter().all(|(began, ended)| *ended <= from || *began >= to)
    };
    let points = (0..all.len()).filter(is_free).map(|index| all[index]).collect();
    Series { figure: series.figure, of: series.of.clone(), points }
}

#[cfg(test)]
mod tests {
    use pitot_record::soak::{Interval, Load};

    use super::*;

    /// Ten intervals of ten seconds, whose values are their numbers.
    fn series() -> Series {
        Series {
            figure: super::super::series::Figure::find("throughput").unwrap(),
            of: String::new(),
            points: (0..10).map(|n| (f64::from(n) * 10.0 + 5.0, f64::from(n))).collect(),
        }
    }

    fn left(soak: &Soak) -> Vec<f64> {
        untouched(&[series()], soak, 1)[0].points.iter().map(|point| point.1).collect()
    }

    fn fault(at_s: f64, until_s: Option<f64>) -> Fault {
        Fault { subject: 1, at_s, until_s, was_made: true, ..Fault::default() }
    }

    fn event(kind: EventKind, at_s: f64, until_s: Option<f64>) -> Event {
        let (sentence, evidence) = (String::new(), String::new());
        Event { at_s, until_s, subject: Some(1), kind, sentence, evidence }
    }

    #[test]
    fn intervals_with_a_fault_are_left_out_unless_there_are_no_others() {
        let with = |faults: Vec<Fault>| left(&Soak { faults, ..Soak::default() });
        let some = vec![fault(12.0, Some(14.0)), fault(38.0, Some(41.0))];
        assert_eq!(with(some), [0.0, 2.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
        assert_eq!(with(vec![fault(12.0, None)]).len(), 10);
        assert_eq!(with(Vec::new()).len(), 10);
    }

    #[test]
    fn a_rate_is_not_judged_beside_other_processes_unless_they_were_always_there() {
        let with = |until_s| {
            left(&Soak { events: vec![event(EventKind::Neighbours, 31.0, until_s)], ..Soak::default() })
        };
        assert_eq!(with(Some(49.0)), [0.0, 1.0, 2.0, 6.0, 7.0, 8.0, 9.0]);
        assert_eq!(with(None).len(), 10);
    }

    #[test]
    fn outages_are_left_out_however_long_they_are() {
        let with = |events: Vec<Event>| left(&Soak { events, ..Soak::default() });
        let hang = event(EventKind::HangStopped, 24.5, Some(34.0));
        assert_eq!(with(vec![hang.clone()]), [0.0, 1.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
        // The soak ended in it.
        assert_eq!(with(vec![Event { until_s: None, ..hang.clone() }]), [0.0, 1.0]);
        assert_eq!(with(vec![Event { subject: Some(2), ..hang }]).len(), 10);
        let gap = Event { subject: None, ..event(EventKind::Gap, 21.0, Some(27.0)) };
        assert_eq!(with(vec![gap]).len(), 9);
        let died = event(EventKind::ServerEnded, 41.0, None);
        let again = event(EventKind::ServerRestarted, 47.0, None);
        assert_eq!(with(vec![died.clone(), again]), [0.0, 1.0, 2.0, 3.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
        assert_eq!(with(vec![died]), [0.0, 1.0, 2.0, 3.0]);
    }

    #[test]
    fn a_server_that_somebody_else_started_again_is_back_with_its_first_reply() {
        let interval =
            |start_s: f64, completed: u64| Interval { load: 3, start_s, completed, ..Interval::default() };
        let soak = Soak {
            loads: vec![Load { id: 3, subject: 1, ..Load::default() }],
            intervals: vec![interval(30.0, 5), interval(50.0, 0), interval(60.0, 7)],
            events: vec![event(EventKind::ServerEnded, 41.0, None)],
            ..Soak::default()
        };
        // From 41 s to 60 s, and 3.9 s after that.
        assert_eq!(left(&soak), [0.0, 1.0, 2.0, 3.0, 7.0, 8.0, 9.0]);
    }
}
