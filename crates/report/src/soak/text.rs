//! The report as text, and the screen of `pitot soak status`.

use std::fmt::Write as _;

use pitot_meter::units::{counted, grouped, span};
use pitot_record::Unit;
use pitot_record::soak::{EventKind, State};
use pitot_results::Drawn;

use super::analysis::{Analysis, LoadFigures, SubjectFigures};
use super::answer::answer;
use super::counts::{counts, shown_rate};
use super::drifts::{Drifting, Judged};
use super::faults;
use super::series::Series;
use super::trust::trust;
use crate::number::figure;
use crate::terminal::{Page, Screen, Style, faults_table, grade_style};

/// Events on the screen of a status, the latest.
const STATUS_EVENTS_MAX: usize = 8;
/// Figures that a summary tells of, where they were sampled.
const SUMMARY: [&str; 7] = [
    "server-cpu",
    "cpu-per-request",
    "memory-rss",
    "memory-private",
    "descriptors",
    "threads",
    "sockets-established",
];

/// The same of the lab itself.
const LAB: [&str; 2] = ["memory-lab", "memory-loads"];

pub(super) fn render(a: &Analysis<'_>, screen: Screen) -> Drawn {
    let mut out = Page::new(screen);
    head(&mut out, a);
    let (answer, trust) = (answer(a), trust(a));
    out.line(None, "");
    out.styled(Style::Bold, &answer.headline);
    answer.details.iter().for_each(|detail| out.paragraph("  ", detail));
    out.line(None, "");
    out.styled(grade_style(trust.grade), &trust.in_short());
    for subject in &a.subjects {
        server(&mut out, subject);
        drifts(&mut out, &subject.drifts, true);
    }
    if !a.machine_drifts.is_empty() {
        let _ = writeln!(out, "\nthe machine, and the lab itself");
        changes_of(&mut out, &a.machine, &LAB);
        drifts(&mut out, &a.machine_drifts, true);
    }
    faults_table(&mut out, &faults::rows(a), faults::LEGEND);
    events(&mut out, a, usize::MAX);
    published(&mut out, a);
    if trust.reasons.len() > 1 {
        out.heading(trust.grade.title());
        trust.reasons.iter().chain(&trust.notes).for_each(|reason| out.item("- ", reason));
    }
    out.line(None, "");
    out.paragraph("", &format!("To repeat it: {}", a.soak.info.command_line()));
    out.finish()
}

/// What others published, and what is to be known of the method.
fn published(out: &mut Page, a: &Analysis<'_>) {
    let info = &a.soak.info;
    for (title, lines) in [("Published", &info.published), ("Notes", &info.notes)] {
        if !lines.is_empty() {
            let _ = writeln!(out, "\n{title}");
            lines.iter().for_each(|line| out.item("  ", line));
        }
    }
}

/// The figures that drift, with their servers.
pub(super) fn declared(a: &Analysis<'_>) -> Vec<String> {
    let machine = declared_of("the machine", &a.machine_drifts);
    drifting(a).into_iter().chain(machine).map(|drifting| drifting.sentence).collect()
}

/// The figures of servers that drift.
pub(super) fn drifting(a: &Analysis<'_>) -> Vec<Drifting> {
    a.subjects.iter().flat_map(|subject| declared_of(&subject.subject.name, &subject.drifts)).collect()
}

fn declared_of(name: &str, judged: &[Judged]) -> Vec<Drifting> {
    let declared = judged.iter().filter(|judged| judged.is_declared());
    let told = |judged: &Judged| Drifting {
        is_leak: judged.is_leak(),
        sentence: format!("{name}: {}{}", judged.mark(), judged.sentence()),
    };
    declared.map(told).collect()
}

pub(super) fn status(a: &Analysis<'_>, screen: Screen) -> Drawn {
    let mut out = Page::new(screen);
    head(&mut out, a);
    for subject in &a.subjects {
        let _ = writeln!(out, "\n{}", subject.subject.name);
        endings(&mut out, subject);
        for load in &subject.loads {
            if let Some(last) = load.points.last() {
                let _ = writeln!(
                    out,
                    "  now {}, p50 {}, p99 {}   {}",
                    shown_rate(last.rate),
                    figure(last.p50_ns, Unit::Nanoseconds),
                    figure(last.p99_ns, Unit::Nanoseconds),
                    load.load.name
                );
            }
            let _ = writeln!(out, "  {}", counts(load));
            if let Some(durability) = durability(load) {
                let _ = writeln!(out, "  {durability}");
            }
        }
        changes(&mut out, subject);
        drifts(&mut out, &subject.drifts, false);
    }
    recent_fault(&mut out, a);
    events(&mut out, a, STATUS_EVENTS_MAX);
    out.finish()
}

fn head(out: &mut Page, a: &Analysis<'_>) {
    let info = &a.soak.info;
    out.heading(&format!("Soak: {}", info.title));
    let state = match a.soak.state {
        State::Complete => "complete",
        State::Stopped => "stopped",
        State::Running => "running",
        State::Killed => "killed (pitot soak --resume goes on)",
    };
    let left_s = info.asked_s - a.loaded_s();
    let mut line = format!("{} of {} under load, {state}", span(a.loaded_s()), span(info.asked_s));
    if a.soak.state != State::Complete && left_s > 0.5 {
        let _ = write!(line, ", {} left", span(left_s));
    }
    if a.soak.gaps_s() > 0.0 {
        let _ = write!(line, "; {} without the lab (gaps)", span(a.soak.gaps_s()));
    }
    let _ = writeln!(out, "{line}");
}

fn server(out: &mut Page, subject: &SubjectFigures<'_>) {
    let _ = writeln!(out, "\n{}", subject.subject.name);
    endings(out, subject);
    for load in &subject.loads {
        let times = &load.response;
        let time = |nanos: f64| figure(nanos, Unit::Nanoseconds);
        let _ = writeln!(out, "  load: {}", load.load.name);
        let _ = writeln!(out, "    {}", counts(load));
        if let Some(durability) = durability(load) {
            let _ = writeln!(out, "    {durability}");
        }
        if times.count() > 0 {
            let at = |quantile: f64| time(times.at(quantile).0 as f64);
            let _ = writeln!(
                out,
                "    mean {}, p50 {}, p99 {}, p99.9 {}, max {}",
                time(times.mean().0 as f64),
                at(0.5),
                at(0.99),
                at(0.999),
                time(times.max().0 as f64)
            );
        }
    }
    changes(out, subject);
}

/// How often the server ended and was started again, if it did.
fn endings(out: &mut Page, subject: &SubjectFigures<'_>) {
    let endings = subject.subject.endings;
    if endings.deaths > 0 {
        let _ = writeln!(
            out,
            "  ended by itself {}, started again {}",
            counted(endings.deaths, "time", "times"),
            counted(endings.restarts, "time", "times")
        );
    }
}

/// What became of what the server acknowledged, where that was looked for.
fn durability(load: &LoadFigures<'_>) -> Option<String> {
    let totals = &load.load.totals;
    let (_, what) = totals.kept?.words();
    let acknowledged = grouped(totals.acknowledged);
    let mut line = match totals.lost {
        0 => format!("none of {acknowledged} acknowledged {what} is lost"),
        lost => format!("LOST: {} of {acknowledged} acknowledged {what}", grouped(lost)),
    };
    if totals.torn > 0 {
        let _ = write!(line, ", {} of them there in part", grouped(totals.torn));
    }
    if totals.doubled > 0 {
        let _ = write!(line, "; {} were there more than once", grouped(totals.doubled));
    }
    Some(line)
}

/// What the server used at first and at last.
fn changes(out: &mut Page, subject: &SubjectFigures<'_>) {
    changes_of(out, &subject.series, &SUMMARY);
}

fn changes_of(out: &mut Page, all: &[Series], names: &[&str]) {
    let find = |name: &&str| all.iter().find(|series| series.figure.name == *name);
    for series in names.iter().filter_map(find) {
        if let (Some(first), Some(last)) = (series.first(), series.last()) {
            let change =
                if first > 0.0 { format!(" ({:+.1}%)", (last / first - 1.0) * 100.0) } else { String::new() };
            let _ = writeln!(
                out,
                "  {}: {} at first, {} at last{change}",
                series.figure.title,
                value(series, first),
                value(series, last)
            );
        }
    }
}

/// A sentence for each figure: those that drift first, those that changed, and with `all` those in which nothing was seen.
fn drifts(out: &mut Page, judged: &[Judged], all: bool) {
    if judged.is_empty() {
        return;
    }
    let (drift, rest): (Vec<&Judged>, Vec<&Judged>) = judged.iter().partition(|judged| judged.is_declared());
    let (changed, steady): (Vec<&Judged>, Vec<&Judged>) =
        rest.into_iter().partition(|judged| judged.has_changed());
    for judged in &drift {
        let style = if judged.is_leak() { Style::Bad } else { Style::Care };
        out.item_in(Some(style), "  ", &format!("{}{}", judged.mark(), judged.sentence()));
    }
    if all {
        changed.iter().chain(&steady).for_each(|judged| out.item("  ", &judged.sentence()));
    } else {
        let rest = || changed.iter().chain(&steady);
        let unsure = rest().filter(|judged| judged.is_too_short()).count();
        let other = if drift.is_empty() { "" } else { "other " };
        let mut parts = vec![format!("no drift of {} {other}figures seen", rest().count() - unsure)];
        parts.extend((unsure > 0).then(|| format!("too short to tell of {unsure}")));
        let _ = writeln!(out, "  {}", parts.join(", "));
    }
}

/// A value of a series as people read it.
pub(super) fn value(series: &Series, value: f64) -> String {
    figure(value, series.figure.unit)
}

/// How many faults there were, and the one that goes on.
fn recent_fault(out: &mut Page, a: &Analysis<'_>) {
    let faults = &a.soak.faults;
    if faults.is_empty() {
        return;
    }
    let under_way: Vec<&str> =
        faults.iter().filter(|fault| fault.until_s.is_none()).map(|fault| fault.kind.as_str()).collect();
    let now =
        if under_way.is_empty() { String::new() } else { format!("; under way: {}", under_way.join(", ")) };
    let _ = writeln!(out, "\n{} faults so far{now}", faults.len());
}

fn events(out: &mut Page, a: &Analysis<'_>, max: usize) {
    let events = &a.soak.events;
    if events.is_empty() {
        return;
    }
    let _ = writeln!(out, "\nWhat happened");
    let skipped = events.len().saturating_sub(max);
    if skipped > 0 {
        let _ = writeln!(out, "  ({skipped} earlier events are in the report)");
    }
    for event in &events[skipped..] {
        let length = match event.until_s {
            Some(until_s) if event.kind != EventKind::Gap => format!(" (for {})", span(until_s - event.at_s)),
            _ => String::new(),
        };
        out.item("  ", &format!("{:>10}  {}{length}", span(event.at_s), event.sentence));
        if max == usize::MAX {
            for line in event.evidence.lines() {
                let _ = writeln!(out, "              {line}");
            }
        }
    }
}
