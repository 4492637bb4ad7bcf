//! `--fail-if` of soaks: what makes the exit code 1.

use pitot_load::{Condition, Figures};
use pitot_meter::Histogram;
use pitot_record::Soak;
use pitot_record::soak::{EventKind, Load};
use pitot_results::Failure;

/// What is asked of a soak.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Alarm {
    /// No figure of a server leaks.
    Leak,
    /// None drifts, or leaks.
    Drift,
    /// No server hangs.
    Hang,
    /// A condition on the figures of a load.
    Condition(Condition),
}

/// Reads a list.
pub(super) fn parse(text: &str) -> Result<Vec<Alarm>, String> {
    text.split(',').map(one).collect()
}

fn one(text: &str) -> Result<Alarm, String> {
    match text.trim() {
        "leak" => return Ok(Alarm::Leak),
        "drift" => return Ok(Alarm::Drift),
        "hang" => return Ok(Alarm::Hang),
        _ => {}
    }
    let condition = Condition::parse(text)
        .map_err(|e| format!("{e}; write leak, drift, hang, or a condition like 'errors > 1%'"))?;
    match condition.is_of_replies() {
        true => Ok(Alarm::Condition(condition)),
        false => Err("conditions of a soak are on response times, errors, missed and rate".to_owned()),
    }
}

/// An error if one of the alarms holds. `file` is named in it.
pub(super) fn check(soak: &Soak, alarms: &[Alarm], file: &std::path::Path) -> Result<(), Failure> {
    let asks = |alarm: &Alarm| alarms.contains(alarm);
    let mut why: Vec<String> = Vec::new();
    if asks(&Alarm::Leak) || asks(&Alarm::Drift) {
        let drifting = pitot_report::soak::drifting(soak).into_iter();
        let drifting = drifting.filter(|drifting| drifting.is_leak || asks(&Alarm::Drift));
        why.extend(drifting.map(|drifting| drifting.sentence));
    }
    if asks(&Alarm::Hang) {
        let is_hang = |kind: EventKind| kind.is_hang() || kind == EventKind::LoadUnanswered;
        let hangs = soak.events.iter().filter(|event| is_hang(event.kind));
        why.extend(hangs.map(|event| event.sentence.clone()));
    }
    for load in &soak.loads {
        let response = response(soak, load);
        let figures = figures(load, &response);
        let conditions = alarms.iter().filter_map(|alarm| match alarm {
            Alarm::Condition(condition) => Some(condition),
            Alarm::Leak | Alarm::Drift | Alarm::Hang => None,
        });
        // An unknown figure fails too: nothing has shown that the server meets it.
        let failed = conditions.filter(|condition| condition.met(&figures, true));
        why.extend(failed.map(|condition| {
            format!("{}: {} (--fail-if '{condition}')", load.name, condition.describe(&figures))
        }));
    }
    match why.is_empty() {
        true => Ok(()),
        false => Err(Failure::run(
            format!("the soak fails: {}", why.join("; ")),
            format!("see when: pitot report {}", file.display()),
        )),
    }
}

/// Response times of the whole soak.
fn response(soak: &Soak, load: &Load) -> Histogram {
    let mut response = Histogram::new();
    for interval in soak.intervals.iter().filter(|interval| interval.load == load.id) {
        response.merge(&Histogram::decode(&interval.response).unwrap_or_default());
    }
    response
}

fn figures<'a>(load: &Load, response: &'a Histogram) -> Figures<'a> {
    let totals = &load.totals;
    // A reply that came late is among those completed, and so is one with a wrong content.
    let without_reply = totals.kinds.iter().filter(|kind| match kind.phase.as_str() {
        "send" | "receive" => true,
        "timeout" => kind.kind != "late",
        _ => false,
    });
    Figures {
        attempted: totals.completed + without_reply.map(|kind| kind.count).sum::<u64>(),
        errors: totals.errors,
        missed: totals.missed,
        rate: if totals.loaded_s > 0.0 { totals.completed as f64 / totals.loaded_s } else { 0.0 },
        ..Figures::of(response)
    }
}

#[cfg(test)]
mod tests {
    use pitot_meter::Nanos;
    use pitot_record::soak::{Event, Interval, Kind, Totals};

    use super::*;

    fn soak() -> Soak {
        let mut response = Histogram::new();
        (0..95).for_each(|_| response.record(Nanos::from_millis(2)));
        let kinds = vec![Kind { phase: "receive".into(), kind: "closed".into(), count: 5 }];
        let totals = Totals { completed: 95, errors: 5, loaded_s: 10.0, kinds, ..Totals::default() };
        let load = Load { id: 1, subject: 1, name: "load".into(), totals, ..Load::default() };
        let interval = Interval { load: 1, response: response.encode(), ..Interval::default() };
        Soak { loads: vec![load], intervals: vec![interval], ..Soak::default() }
    }

    fn why(soak: &Soak, text: &str) -> Option<String> {
        let failed = check(soak, &parse(text).unwrap(), std::path::Path::new("a.pitot"));
        failed.err().map(|failure| failure.what)
    }

    #[test]
    fn conditions_are_asked_of_the_whole_soak() {
        let soak = soak();
        assert_eq!(
            why(&soak, "errors > 4%").unwrap(),
            "the soak fails: load: errors is 5.000% (--fail-if 'errors > 4%')"
        );
        assert_eq!(why(&soak, "errors > 5%, p99 > 5ms, rate < 9, errors > 5, leak, drift, hang"), None);
        assert!(why(&soak, "p50 > 1ms").is_some() && why(&soak, "rate < 10").is_some());
        let nothing = Soak { intervals: Vec::new(), ..soak };
        assert!(why(&nothing, "p99 > 5ms").unwrap().contains("is unknown"));
    }

    #[test]
    fn a_hang_fails_and_other_events_do_not() {
        let event = |kind| Event {
            at_s: 1.0,
            until_s: None,
            subject: Some(1),
            kind,
            sentence: "what happened".into(),
            evidence: String::new(),
        };
        let with = |kind| Soak { events: vec![event(kind)], ..soak() };
        assert_eq!(why(&with(EventKind::HangSilent), "hang").unwrap(), "the soak fails: what happened");
        assert_eq!(why(&with(EventKind::ServerEnded), "hang"), None);
        assert_eq!(why(&with(EventKind::HangSilent), "leak"), None);
    }

    #[test]
    fn what_a_soak_cannot_know_is_refused() {
        for (text, said) in [
            ("leaks", "has no `<`"),
            ("errors > 200%", "is not a percentage"),
            ("handshake p99 > 5ms", "are on response times"),
            ("status 5xx > 1%", "are on response times"),
            ("latency > 5ms", "is not a figure"),
        ] {
            let refused = parse(text).unwrap_err();
            assert!(refused.contains(said), "{text}: {refused}");
        }
        assert_eq!(parse("leak, hang").unwrap(), [Alarm::Leak, Alarm::Hang]);
    }
}
