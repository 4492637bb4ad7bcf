//! Whether a soak can be trusted: whether it is complete, and what disturbed it.

use pitot_meter::units::span;
use pitot_record::soak::{Event, EventKind, State};
use pitot_results::MISSED_SHARE_MAX;

use super::analysis::{Analysis, LoadFigures};
use crate::number::percent;
use crate::text::sentence;
use crate::trust::{Grade, Trust};

/// Disturbances that the servers did not cause, the worst first.
const DISTURBING: [EventKind; 8] = [
    EventKind::LoadEnded,
    EventKind::HelperEnded,
    EventKind::FaultFailed,
    EventKind::KeptUnreadable,
    EventKind::Throttled,
    EventKind::Neighbours,
    EventKind::ClockStep,
    EventKind::KernelUnreadable,
];

pub(super) fn trust(a: &Analysis<'_>) -> Trust {
    let mut reasons: Vec<String> = Vec::new();
    let is_too_short = a.sure().next().is_none();
    if is_too_short {
        reasons.push("The soak was too short to tell whether any figure drifts.".to_owned());
    }
    reasons.extend(incomplete(a));
    reasons.extend(missed(a));
    reasons.extend(DISTURBING.iter().filter_map(|kind| disturbed(a, *kind)));
    let grade = match (is_too_short, reasons.is_empty()) {
        (true, _) => Grade::Bad,
        (false, false) => Grade::Care,
        (false, true) => Grade::Good,
    };
    if grade == Grade::Good {
        reasons.push("The servers were under load all the time, and nothing else disturbed them.".to_owned());
    }
    let all = a.judged().count();
    let unsure = all - a.sure().count();
    let notes = (unsure > 0 && !is_too_short).then(|| {
        format!(
            "The soak was too short to tell whether {unsure} of {all} figures drift; they are listed below."
        )
    });
    Trust { grade, reasons, notes: notes.into_iter().collect() }
}

fn incomplete(a: &Analysis<'_>) -> Vec<String> {
    let (loaded, asked, gaps_s) = (span(a.loaded_s()), span(a.soak.info.asked_s), a.soak.gaps_s());
    let state = match a.soak.state {
        State::Complete => None,
        State::Running => Some(format!("It is still running: {loaded} of {asked} so far.")),
        State::Stopped => Some(format!("It was stopped after {loaded} of {asked}.")),
        State::Killed => Some(format!("It was killed after {loaded} of {asked}.")),
    };
    let gaps = (gaps_s > 0.0).then(|| format!("The lab did not run for {} (gaps).", span(gaps_s)));
    state.into_iter().chain(gaps).collect()
}

/// Loads that could not send all requests that were due.
fn missed(a: &Analysis<'_>) -> Vec<String> {
    let missed = |(name, load): (&str, &LoadFigures<'_>)| {
        let totals = &load.load.totals;
        let due = totals.completed as f64 + totals.errors as f64 + totals.missed as f64;
        let share = totals.missed as f64 / due.max(1.0);
        (share > MISSED_SHARE_MAX).then(|| {
            format!("{} of the requests that were due to **{name}** could not be sent.", percent(share))
        })
    };
    a.loads().filter_map(missed).collect()
}

/// The longest event of a kind, with how many there were and for how long.
fn disturbed(a: &Analysis<'_>, kind: EventKind) -> Option<String> {
    let events: Vec<&Event> = a.soak.events.iter().filter(|event| event.kind == kind).collect();
    let reached_s = a.soak.reached_s();
    let length_s = |event: &Event| match event.until_s {
        Some(until_s) => (until_s - event.at_s).max(0.0),
        None if kind.has_end() => (reached_s - event.at_s).max(0.0),
        None => 0.0,
    };
    let longest = events.iter().max_by(|x, y| length_s(x).total_cmp(&length_s(y)))?;
    let total_s: f64 = events.iter().map(|event| length_s(event)).sum();
    let what = longest.sentence.trim_end_matches('.');
    let more = match (events.len(), total_s > 0.0) {
        (1, false) => String::new(),
        (1, true) => format!(" (for {})", span(total_s)),
        (times, false) => format!(" ({times} times)"),
        (times, true) => format!(" (the longest of {times} times, {} in all)", span(total_s)),
    };
    Some(sentence(&format!("{what}{more}")))
}

#[cfg(test)]
mod tests {
    use pitot_record::Soak;
    use pitot_record::soak::{Info, Reading, Subject};

    use super::*;

    fn soak(state: State, events: Vec<Event>) -> Soak {
        let sample = |n: u32| Reading {
            subject: 1,
            metric: "memory-private".into(),
            start_s: f64::from(n) * 10.0,
            length_s: 10.0,
            mean: 5e6,
            min: 5e6,
            max: 5e6,
        };
        Soak {
            info: Info { asked_s: 600.0, ..Info::default() },
            state,
            subjects: vec![Subject { id: 1, name: "a".into(), ..Subject::default() }],
            readings: (0..60).map(sample).collect(),
            events,
            ..Soak::default()
        }
    }

    fn event(kind: EventKind, at_s: f64, until_s: Option<f64>) -> Event {
        let sentence = "other processes used 129% of a CPU".into();
        Event { at_s, until_s, subject: None, kind, sentence, evidence: String::new() }
    }

    #[test]
    fn a_soak_that_nothing_disturbed_is_trusted() {
        let soak = soak(State::Complete, Vec::new());
        let trust = trust(&Analysis::of(&soak));
        assert_eq!((trust.grade, trust.reasons.len()), (Grade::Good, 1), "{trust:?}");
    }

    #[test]
    fn what_disturbed_a_soak_is_said_once_with_how_often_and_how_long() {
        let neighbours = |at_s| event(EventKind::Neighbours, at_s, Some(at_s + 30.0));
        let gap = event(EventKind::Gap, 300.0, Some(310.0));
        let soak = soak(State::Stopped, vec![neighbours(10.0), gap, neighbours(400.0)]);
        let trust = trust(&Analysis::of(&soak));
        let reasons = [
            "It was stopped after 9 min 50 s of 10 min.",
            "The lab did not run for 10 s (gaps).",
            "Other processes used 129% of a CPU (the longest of 2 times, 1 min in all).",
        ];
        assert_eq!(trust.grade, Grade::Care);
        let said: Vec<String> =
            trust.reasons.iter().map(|reason| reason.replace("10 min", "600 s")).collect();
        assert_eq!(said.len(), reasons.len(), "{said:?}");
        assert!(said[0].starts_with("It was stopped after ") && said[1..] == reasons[1..], "{said:?}");
    }

    #[test]
    fn a_soak_of_which_no_figure_can_be_judged_is_not_relied_on() {
        let soak = Soak { readings: Vec::new(), ..soak(State::Complete, Vec::new()) };
        assert_eq!(trust(&Analysis::of(&soak)).grade, Grade::Bad);
    }
}
