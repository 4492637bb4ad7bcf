//! The answer of a soak: what happened to its servers, the worst first, and whether it was long enough to judge.

use pitot_meter::units::{counted, grouped, span};

use super::analysis::{Analysis, SubjectFigures};
use super::drifts::Judged;
use crate::findings::Answer;
use crate::text::{s, sentence};

/// Up to so many figures are named; more are counted.
const NAMED_MAX: usize = 6;

pub(super) fn answer(a: &Analysis<'_>) -> Answer {
    let findings: Vec<String> = lost(a)
        .chain(unanswered(a))
        .chain(ended(a))
        .chain(hung(a))
        .chain(drifting(a, true))
        .chain(drifting(a, false))
        .collect();
    let mut findings = findings.iter().map(|finding| sentence(finding));
    let (headline, more) = match findings.next() {
        Some(first) => (first, unsure(a).map(|unsure| sentence(&unsure))),
        None => (sentence(&nothing(a)), None),
    };
    Answer { headline, details: findings.chain(more).collect(), tiles: Vec::new() }
}

/// Servers that lost what they had acknowledged.
fn lost<'a>(a: &'a Analysis<'_>) -> impl Iterator<Item = String> + 'a {
    a.loads().filter(|(_, load)| load.load.totals.lost > 0).map(|(name, load)| {
        let totals = &load.load.totals;
        let what = totals.kept.map_or("requests", |kind| kind.words().1);
        let (lost, all) = (grouped(totals.lost), grouped(totals.acknowledged));
        format!("**{name}** lost {lost} of {all} {what} that it had acknowledged")
    })
}

fn unanswered<'a>(a: &'a Analysis<'_>) -> impl Iterator<Item = String> + 'a {
    let is_mute = |subject: &&SubjectFigures<'_>| {
        !subject.loads.is_empty() && subject.loads.iter().all(|load| !load.load.totals.was_answered())
    };
    let mute = a.subjects.iter().filter(is_mute);
    mute.map(|subject| format!("**{}** answered nothing", subject.subject.name))
}

fn ended<'a>(a: &'a Analysis<'_>) -> impl Iterator<Item = String> + 'a {
    let ended = a.subjects.iter().filter(|subject| subject.subject.endings.deaths > 0);
    ended.map(|subject| {
        let endings = subject.subject.endings;
        let times = counted(endings.deaths, "time", "times");
        let again = counted(endings.restarts, "time", "times");
        format!("**{}** exited unexpectedly {times} and was restarted {again}", subject.subject.name)
    })
}

fn hung<'a>(a: &'a Analysis<'_>) -> impl Iterator<Item = String> + 'a {
    a.subjects.iter().filter_map(|subject| {
        let own = a.soak.events.iter().filter(|event| event.subject == Some(subject.subject.id));
        let hangs = own.filter(|event| event.kind.is_hang()).count() as u64;
        (hangs > 0).then(|| format!("**{}** hung {}", subject.subject.name, counted(hangs, "time", "times")))
    })
}

/// The figures of servers that drift: those that are leaks, or the others.
fn drifting<'a>(a: &'a Analysis<'_>, is_leak: bool) -> impl Iterator<Item = String> + 'a {
    let word = if is_leak { "may leak" } else { "drifts" };
    a.subjects.iter().flat_map(move |subject| {
        let own =
            subject.drifts.iter().filter(move |judged| judged.is_declared() && judged.is_leak() == is_leak);
        own.map(move |judged| format!("**{}** {word}: {}", subject.subject.name, judged.sentence()))
    })
}

/// If nothing was found: that nothing was seen, or that the soak was too short to see anything.
fn nothing(a: &Analysis<'_>) -> String {
    let length = span(a.loaded_s());
    if a.sure().next().is_none() {
        let why = match unsure(a) {
            Some(_) => "even a drift that doubles a figure would not be visible".to_owned(),
            None => format!(
                "no figure has the {} intervals that a trend needs",
                pitot_stats::drift::INTERVALS_MIN
            ),
        };
        return format!("too short to tell: in {length}, {why}");
    }
    let unsure = unsure(a).map_or_else(String::new, |unsure| format!("; {unsure}"));
    format!("no leak and no drift seen in {length}{unsure}")
}

/// The figures for which the soak is too short, if any.
fn unsure(a: &Analysis<'_>) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    for name in a.judged().filter(|judged| judged.is_too_short()).map(Judged::name) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let what = match &names[..] {
        [] => return None,
        [one] => one.clone(),
        [front @ .., last] if names.len() <= NAMED_MAX => format!("{} and {last}", front.join(", ")),
        front => {
            let more = front.len() - (NAMED_MAX - 1);
            format!("{} and {more} other figure{}", front[..NAMED_MAX - 1].join(", "), s(more))
        }
    };
    Some(format!("too short to tell for {what}"))
}

#[cfg(test)]
mod tests {
    use pitot_durability::Stored;
    use pitot_record::Soak;
    use pitot_record::soak::{Endings, Event, EventKind, Info, Load, Reading, State, Subject, Totals};

    use super::*;
    use crate::format::Format;
    use crate::reported::Reported;

    /// Ten minutes of a server whose private memory is as `memory` says.
    fn soak(memory: impl Fn(f64) -> f64) -> Soak {
        let sample = |n: u32| {
            let (start_s, mean) = (f64::from(n) * 10.0, memory(f64::from(n)));
            let metric = "memory-private".to_owned();
            Reading { subject: 1, metric, start_s, length_s: 10.0, mean, min: mean, max: mean }
        };
        let totals = Totals { completed: 5_000, loaded_s: 600.0, ..Totals::default() };
        Soak {
            info: Info { title: "a".into(), asked_s: 600.0, ..Info::default() },
            state: State::Complete,
            subjects: vec![Subject { id: 1, name: "a".into(), ..Subject::default() }],
            loads: vec![Load { id: 1, subject: 1, name: "load".into(), totals, ..Load::default() }],
            readings: (0..60).map(sample).collect(),
            ..Soak::default()
        }
    }

    fn headline(soak: &Soak) -> String {
        answer(&Analysis::of(soak)).headline
    }

    #[test]
    fn what_is_steady_has_no_leak_and_no_drift() {
        let said = headline(&soak(|_| 5e6));
        assert!(said.starts_with("No leak and no drift seen in ") && !said.contains("too short"), "{said}");
    }

    #[test]
    fn the_gravest_comes_first() {
        let mut soak = soak(|n| 5e6 + 1e5 * n);
        assert!(headline(&soak).starts_with("**a** may leak: private memory grew "), "{}", headline(&soak));
        soak.events.push(Event {
            at_s: 1.0,
            until_s: Some(2.0),
            subject: Some(1),
            kind: EventKind::HangSilent,
            sentence: String::new(),
            evidence: String::new(),
        });
        assert_eq!(headline(&soak), "**a** hung 1 time.");
        soak.subjects[0].endings = Endings { deaths: 2, restarts: 1 };
        assert_eq!(headline(&soak), "**a** exited unexpectedly 2 times and was restarted 1 time.");
        let totals = &mut soak.loads[0].totals;
        (totals.kept, totals.acknowledged, totals.lost) = (Some(Stored::Mail), 100, 3);
        let answer = answer(&Analysis::of(&soak));
        assert_eq!(answer.headline, "**a** lost 3 of 100 mails that it had acknowledged.");
        assert_eq!(answer.details.len(), 3, "{answer:?}");
    }

    #[test]
    fn a_soak_that_is_too_short_says_so_in_every_format() {
        let mut soak = soak(|n| 1e6 * (1.0 + f64::from((n as u32 * 7_919) % 11)));
        for (n, sample) in (0..).zip(&mut soak.readings) {
            (sample.start_s, sample.length_s) = (f64::from(n), 1.0);
        }
        let said = "Too short to tell: in ";
        assert!(headline(&soak).starts_with(said), "{}", headline(&soak));
        let render = |format| soak.report(format).unwrap();
        let (text, page) = (render(Format::Terminal), render(Format::Html));
        for of in [&text, &page, &render(Format::Json), &render(Format::Markdown)] {
            assert!(
                of.contains(said) && of.contains("too short to tell whether private memory drifts"),
                "{of}"
            );
            assert!(!of.contains("times its median"), "{of}");
        }
        let json: serde_json::Value = serde_json::from_str(&render(Format::Json)).unwrap();
        assert_eq!(
            (&json["drifts"][0]["course"], &json["trust"]["grade"]),
            (&"too-short".into(), &"bad".into())
        );
        // The verdict is first, then whether to trust it, then the evidence.
        let at = |of: &str| page.find(of).unwrap_or_else(|| panic!("{of}: {page}"));
        assert!(
            at("verdict-line\">") < at("Can it be trusted?") && at("Can it be trusted?") < at("<h2>a</h2>")
        );
    }

    #[test]
    fn the_page_has_the_machine_and_no_line_of_text_is_wider_than_80_columns() {
        let mut soak = soak(|_| 5e6);
        soak.info.machine.push("cpu", "model name", "Example <9000>");
        let page = soak.report(Format::Html).unwrap();
        assert!(page.contains("<li>CPU <b>Example &lt;9000&gt;</b></li>"), "{page}");
        assert!(page.contains("<h3>The machine</h3>") && page.contains("<dd>Example &lt;9000&gt;</dd>"));
        let text = soak.report(Format::Terminal).unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
