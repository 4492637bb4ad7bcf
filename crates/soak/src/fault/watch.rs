//! The faults of one server: reports their begin and end, and judges their effect afterwards.

use pitot_fault::{BEFORE_NS, FaultRecord, find, service_around};
use pitot_lab::FaultNews;
use pitot_results::load::{Steps, Window};

use super::recent::Recent;
use pitot_record::soak::Fault;

/// Time after the end of a fault that still belongs to it, unless another one begins.
const AFTER_NS: u64 = 60_000_000_000;
/// Loads report each second after it is over; after this delay it is known.
const TOLD_NS: u64 = 3_000_000_000;
/// Time after a fault in which silence is still due to it.
const GRACE_NS: u64 = 3_000_000_000;
/// A longer fault is judged after this time, since steps are not kept for hours.
const LONGEST_NS: u64 = 600_000_000_000;

/// The time axis of a soak: a time of `CLOCK_MONOTONIC`, and its place on the axis.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Origin {
    pub(crate) ns: u64,
    pub(crate) at_s: f64,
}

impl Origin {
    fn axis_s(self, ns: u64) -> f64 {
        self.at_s + (ns as f64 - self.ns as f64) / 1e9
    }
}

/// A fault that has begun and is not judged.
#[derive(Debug)]
struct Open {
    fault: Fault,
    began_ns: u64,
    /// When it ended, or was given up.
    ended_ns: Option<u64>,
}

/// The faults of one server.
#[derive(Debug)]
pub(crate) struct FaultWatch {
    subject: i64,
    origin: Origin,
    recent: Recent,
    /// By their begin.
    open: Vec<Open>,
    /// Those that were judged and are still active.
    long: Vec<Open>,
    /// The end of the last fault that can silence a server.
    long_ended_ns: u64,
    /// The end of the last fault that was judged, or was not made.
    earlier_ns: u64,
}

impl FaultWatch {
    pub(crate) fn new(subject: i64) -> FaultWatch {
        let (origin, recent) = (Origin::default(), Recent::default());
        FaultWatch {
            subject,
            origin,
            recent,
            open: Vec::new(),
            long: Vec::new(),
            long_ended_ns: 0,
            earlier_ns: 0,
        }
    }

    /// Sets the time axis of the soak.
    pub(crate) fn set_origin(&mut self, origin: Origin) {
        self.origin = origin;
    }

    /// The place of a time on the axis of the soak, seconds.
    pub(crate) fn axis_s(&self, ns: u64) -> f64 {
        self.origin.axis_s(ns)
    }

    /// Adds a load's report of a second.
    pub(crate) fn steps(&mut self, begins_ns: u64, steps: &Steps) {
        self.recent.add(begins_ns, steps);
    }

    /// Handles news of a fault, and returns its record.
    pub(crate) fn take(&mut self, news: FaultNews) -> Fault {
        match news {
            FaultNews::Began(record) => {
                let began_ns = record.began_ns;
                let at_s = self.origin.axis_s(began_ns);
                let fault = Fault { subject: self.subject, at_s, ..fault(record) };
                self.open.push(Open { fault: fault.clone(), began_ns, ended_ns: None });
                fault
            }
            FaultNews::Ended(record) => {
                let is_it = |open: &Open| {
                    open.ended_ns.is_none()
                        && open.fault.number == record.number
                        && open.fault.due_s == record.due_s
                };
                if let Some(index) = self.long.iter().position(is_it) {
                    let long = self.long.remove(index);
                    let until_s = Some(self.origin.axis_s(record.ended_ns.max(long.began_ns)));
                    self.earlier_ns = self.earlier_ns.max(record.ended_ns);
                    if can_silence(&long) {
                        self.long_ended_ns = self.long_ended_ns.max(record.ended_ns);
                    }
                    return Fault {
                        until_s,
                        what: record.what,
                        server_died: record.server_died,
                        ..long.fault
                    };
                }
                let found = self.open.iter().position(is_it);
                let (began_ns, ended_ns) = (record.began_ns, record.ended_ns.max(record.began_ns));
                let mut fault = Fault { subject: self.subject, ..fault(record) };
                let asked_s = found.map_or(self.origin.at_s, |index| self.open[index].fault.at_s);
                if began_ns > 0 {
                    fault.at_s = self.origin.axis_s(began_ns);
                    fault.until_s = Some(self.origin.axis_s(ended_ns));
                } else {
                    (fault.at_s, fault.until_s, fault.was_made) = (asked_s, Some(asked_s), false);
                }
                let Some(index) = found else { return fault };
                if fault.was_made {
                    self.open[index] = Open { fault: fault.clone(), began_ns, ended_ns: Some(ended_ns) };
                } else {
                    self.open.remove(index);
                }
                fault
            }
        }
    }

    /// Whether silence is due to a fault now.
    pub(crate) fn explains_silence(&self, now_ns: u64) -> bool {
        let mut open = self.open.iter().chain(&self.long).filter(|open| can_silence(open));
        now_ns < self.long_ended_ns + GRACE_NS && self.long_ended_ns > 0
            || open.any(|open| open.ended_ns.is_none_or(|ended_ns| now_ns < ended_ns + GRACE_NS))
    }

    /// The kind of the fault that may be the reason if the server dies now.
    pub(crate) fn reason_of_death(&self, now_ns: u64) -> Option<&str> {
        let may_end = |open: &&Open| find(&open.fault.kind).is_some_and(|fault| fault.may_end_server);
        let is_near = |open: &&Open| open.ended_ns.is_none_or(|ended_ns| now_ns < ended_ns + GRACE_NS);
        let mut open = self.open.iter().chain(&self.long).filter(may_end);
        open.find(is_near).map(|open| &*open.fault.kind)
    }

    /// The faults whose effect is completely known, with that effect; at the end of a soak, all of them.
    pub(crate) fn judged(&mut self, now_ns: u64, is_end: bool) -> Vec<Fault> {
        let mut judged = Vec::new();
        while let Some(first) = self.open.first() {
            let Some(ended_ns) = first.ended_ns else {
                let until = first.began_ns + LONGEST_NS;
                if now_ns < until + TOLD_NS {
                    break;
                }
                let next = self.open.get(1).map_or(until, |next| next.began_ns);
                let effect = self.effect(until.min(next));
                let mut long = self.open.remove(0);
                long.fault.effect = effect;
                judged.push(long.fault.clone());
                self.long.push(long);
                continue;
            };
            let next = self.open.get(1).map(|next| next.began_ns);
            let until = next.unwrap_or(ended_ns + AFTER_NS).min(ended_ns.max(first.began_ns) + AFTER_NS);
            if now_ns < until + TOLD_NS && !is_end {
                break;
            }
            let effect = self.effect(until.min(now_ns));
            let Open { mut fault, .. } = self.open.remove(0);
            fault.effect = effect;
            self.earlier_ns = ended_ns;
            judged.push(fault);
        }
        let needed_ns = self.open.first().map_or(now_ns, |first| first.began_ns);
        self.recent.forget_before(needed_ns.saturating_sub(BEFORE_NS + TOLD_NS));
        judged
    }

    /// The effect of the first open fault up to a time.
    fn effect(&self, until: u64) -> Option<pitot_fault::Effect> {
        let record = |number: u32, began_ns: u64, ended_ns: u64| FaultRecord {
            number,
            began_ns,
            ended_ns,
            ..FaultRecord::default()
        };
        let open = self.open.iter().zip(1..).map(|(open, number)| {
            record(number, open.began_ns, open.ended_ns.unwrap_or(until.max(open.began_ns)))
        });
        let earlier = (self.earlier_ns > 0).then(|| record(0, self.earlier_ns, self.earlier_ns));
        let index = usize::from(earlier.is_some());
        let faults: Vec<FaultRecord> = earlier.into_iter().chain(open).collect();
        let window = Window { start: self.recent.begins_ns(), end: until };
        service_around(&self.recent.steps_until(until), window, &faults, index)
    }
}

fn can_silence(open: &Open) -> bool {
    find(&open.fault.kind).is_none_or(|fault| fault.can_silence)
}

/// A record without its times on the axis.
fn fault(record: FaultRecord) -> Fault {
    Fault {
        number: record.number,
        kind: record.kind,
        due_s: record.due_s,
        what: record.what,
        command: record.command,
        was_made: true,
        server_died: record.server_died,
        ..Fault::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    /// Where the axis of the tests begins.
    const START: u64 = 50_000_000_000;

    fn record(due_s: f64, began_s: f64, ended_s: f64) -> FaultRecord {
        let ns = |s: f64| if s > 0.0 { START + (s * 1e9) as u64 } else { 0 };
        FaultRecord {
            kind: "stop".into(),
            due_s,
            began_ns: ns(began_s),
            ended_ns: ns(ended_s),
            ..FaultRecord::default()
        }
    }

    /// A watch to whose loads so many seconds were told, at 1000 replies a second but for two outages: 10 to 11 s and 20 to 22 s.
    fn told(watch: &mut FaultWatch, seconds: std::ops::Range<u64>) {
        for second in seconds {
            let is_silent = second == 10 || (20..22).contains(&second);
            let steps = Steps {
                length_ns: 10 * MS,
                right: vec![if is_silent { 0 } else { 10 }; 100],
                errors: Vec::new(),
            };
            watch.steps(START + second * 1000 * MS, &steps);
        }
    }

    #[test]
    fn a_fault_is_judged_when_the_next_one_has_begun_or_a_minute_is_over() {
        let mut watch = FaultWatch::new(1);
        watch.set_origin(Origin { ns: START, at_s: 100.0 });
        let at = |s: u64| START + s * 1000 * MS;
        told(&mut watch, 0..10);
        let began = watch.take(FaultNews::Began(record(10.0, 9.99, 0.0)));
        assert_eq!((began.subject, began.until_s, began.was_made), (1, None, true));
        assert!((began.at_s - 109.99).abs() < 1e-6);
        assert!(watch.explains_silence(at(11)) && watch.judged(at(11), false).is_empty());
        let ended = watch.take(FaultNews::Ended(record(10.0, 10.0, 11.0)));
        assert_eq!((ended.at_s, ended.until_s), (110.0, Some(111.0)));
        assert!(watch.explains_silence(at(12)) && !watch.explains_silence(at(15)));
        told(&mut watch, 10..20);
        // The same fault once more.
        watch.take(FaultNews::Began(record(20.0, 20.0, 0.0)));
        watch.take(FaultNews::Ended(record(20.0, 20.0, 22.0)));
        told(&mut watch, 20..25);
        let judged = watch.judged(at(25), false);
        assert_eq!(judged.len(), 1);
        let service = judged[0].effect.as_ref().unwrap().service.as_ref().unwrap();
        assert!((service.first_reply_s.unwrap() - 1.01).abs() < 0.02, "{service:?}");
        assert_eq!(service.after_rps, Some(1000.0));
        told(&mut watch, 25..90);
        assert!(watch.judged(at(80), false).is_empty());
        let judged = watch.judged(at(86), false);
        let service = judged[0].effect.as_ref().unwrap().service.as_ref().unwrap();
        assert!((service.first_reply_s.unwrap() - 2.01).abs() < 0.02, "{service:?}");
        assert!(!service.stays_slower);
        assert!(watch.recent.steps_until(u64::MAX).right.len() <= 1000, "what is judged is not kept");
    }

    #[test]
    fn a_fault_of_hours_is_judged_by_its_first_minutes_and_needs_no_more_memory_than_these() {
        let mut watch = FaultWatch::new(1);
        watch.set_origin(Origin { ns: START, at_s: 0.0 });
        told(&mut watch, 0..10);
        watch.take(FaultNews::Began(record(10.0, 10.0, 0.0)));
        let mut judged = Vec::new();
        for second in 10..7200 {
            told(&mut watch, second..second + 1);
            judged.extend(watch.judged(START + (second + 1) * 1000 * MS, false));
            let kept = watch.recent.steps_until(u64::MAX).right.len();
            assert!(kept <= 62_000, "{kept} steps after {second} s");
        }
        assert_eq!(judged.len(), 1);
        let service = judged[0].effect.as_ref().unwrap().service.as_ref().unwrap();
        assert!((service.first_reply_s.unwrap() - 12.01).abs() < 0.02, "{service:?}");
        assert_eq!(judged[0].until_s, None);
        assert!(watch.explains_silence(START + 7200 * 1000 * MS));
        let ended = watch.take(FaultNews::Ended(record(10.0, 10.0, 7200.0)));
        assert_eq!((ended.until_s, &ended.effect), (Some(7200.0), &judged[0].effect));
        assert!(watch.judged(u64::MAX / 2, true).is_empty() && !watch.explains_silence(u64::MAX / 2));
    }

    #[test]
    fn a_fault_that_cannot_silence_a_server_explains_no_silence() {
        let mut watch = FaultWatch::new(1);
        watch.set_origin(Origin { ns: START, at_s: 0.0 });
        let hog = FaultRecord { kind: "cpu-hog".into(), ..record(1.0, 1.0, 0.0) };
        watch.take(FaultNews::Began(hog));
        assert!(!watch.explains_silence(START + 2000 * MS));
        watch.take(FaultNews::Began(record(2.0, 2.0, 0.0)));
        assert!(watch.explains_silence(START + 3000 * MS));
    }

    #[test]
    fn a_fault_that_was_not_made_is_told_and_not_judged() {
        let mut watch = FaultWatch::new(1);
        watch.set_origin(Origin { ns: START, at_s: 0.0 });
        watch.take(FaultNews::Began(record(5.0, 5.0, 0.0)));
        let refused = FaultRecord { what: "no".into(), ..record(5.0, 0.0, 0.0) };
        let fault = watch.take(FaultNews::Ended(refused));
        assert_eq!(
            (fault.was_made, fault.at_s, fault.until_s, fault.what.as_str()),
            (false, 5.0, Some(5.0), "no")
        );
        assert!(watch.judged(u64::MAX / 2, true).is_empty());
    }
}
