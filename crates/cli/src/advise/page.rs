//! An answer for people: one page.

use std::fmt::Write as _;

use pitot_host::check::{Judgement, Verdict};
use pitot_meter::Nanos;
use pitot_meter::units::{self, grouped};
use pitot_study::advise::{Against, Case, Choice, Isolation, LevelAnswer, Probe, Standing, Turn, Turns};

use super::advice::{Advice, Tried};
use crate::screen::wrapped;
use pitot_meter::units::span;

/// Rules of the host that are shown in full.
const RULES_MAX: usize = 6;

/// The advice in lines of `width` columns.
pub(super) fn text(advice: &Advice<'_>, width: usize) -> String {
    let mut page = Page { text: String::new(), width };
    page.line("", &advice.case.in_words());
    let (servers, load) = &advice.cpus;
    page.line("", &format!("servers on CPU {servers}, load on CPU {load}, loopback"));
    for note in &advice.notes {
        page.line("", note);
    }
    page.title("Known");
    for known in &advice.known {
        page.item(&format!("{} ({}, {})", known.says, known.source, known.year));
    }
    match &advice.measured {
        None => planned(&mut page, advice),
        Some((measured, answer)) => {
            page.title("Run");
            page.line(
                "  ",
                &format!("{} in {}: {}", measured.times, span(measured.seconds), measured.path.display()),
            );
            page.text += &table(answer);
            for (cell, reason) in &answer.failed {
                page.item(&format!("{cell} could not be measured: {reason}"));
            }
            left_out(&mut page, advice);
            page.title("Answer");
            answered(&mut page, answer, advice.case);
            page.title("What would change it");
            for (probe, tried) in &advice.probes {
                probed(&mut page, probe, tried, advice, answer);
            }
        }
    }
    page.title("Host rules that matter for it");
    host(&mut page, advice);
    page.text
}

/// Text that grows by paragraphs.
struct Page {
    text: String,
    width: usize,
}

impl Page {
    fn title(&mut self, title: &str) {
        let _ = writeln!(self.text, "\n{title}");
    }

    fn item(&mut self, text: &str) {
        self.text += &wrapped("- ", "  ", text.split_whitespace(), self.width);
    }

    fn line(&mut self, indent: &str, text: &str) {
        self.text += &wrapped(indent, indent, text.split_whitespace(), self.width);
    }
}

/// What would be run.
fn planned(page: &mut Page, advice: &Advice<'_>) {
    page.title("Candidates");
    for (contender, choice) in advice.choices {
        if let Choice::In(why) = choice {
            page.item(&format!("{}, {}: {why}", contender.name, contender.build));
        }
    }
    left_out(page, advice);
    page.title(&format!("Would be run, in about {}", span(advice.estimate_s)));
    for line in advice.plan.lines() {
        page.text += &format!("  {line}\n").replace("  \n", "\n");
    }
    page.title("Then, to see what would change the answer, the best of them with");
    for (probe, _) in &advice.probes {
        let levels: Vec<String> = probe.levels.iter().map(|&level| probe.axis.shown(level)).collect();
        let note = probe.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
        page.item(&format!("{}: {}{note}", probe.axis.noun(), levels.join(", ")));
    }
}

/// What is not run, the names of one reason together.
fn left_out(page: &mut Page, advice: &Advice<'_>) {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for (contender, choice) in advice.choices {
        // That there are no files is no news to anyone.
        let Choice::Out(why) = choice else { continue };
        if contender.reads_files && advice.case.files.is_none() {
            continue;
        }
        match groups.iter_mut().find(|(reason, _)| *reason == why) {
            Some((_, names)) => names.push(contender.name),
            None => groups.push((why, vec![contender.name])),
        }
    }
    page.title("Left out");
    for (why, names) in groups {
        page.item(&format!("{}: {why}", names.join(", ")));
    }
}

/// The figures of the run.
fn table(answer: &LevelAnswer) -> String {
    let header = ["", "candidate", "requests/s", "behind by", "CPU/request", "p99", "memory/conn"];
    let figure = |value: Option<f64>, show: fn(f64) -> String| value.map_or_else(|| "-".into(), show);
    let mut rows: Vec<Vec<String>> = vec![header.map(str::to_owned).to_vec()];
    for standing in &answer.standings {
        let mark = match standing.contender.name == answer.build.name {
            true => "*",
            false if !standing.is_eligible => "(",
            false if answer.is_level(standing.contender.name) => "=",
            false => "",
        };
        rows.push(vec![
            mark.into(),
            standing.contender.name.into(),
            figure(standing.throughput_rps, |rps| grouped(rps.round() as u64)),
            behind(standing),
            figure(standing.cpu_ns, nanos),
            figure(standing.p99_ns, nanos),
            figure(standing.memory_bytes, |bytes| format!("{:.1} KiB", bytes / 1024.0)),
        ]);
    }
    // A column without a figure says nothing.
    let is_kept: Vec<bool> =
        (0..header.len()).map(|column| rows[1..].iter().any(|row| row[column] != "-")).collect();
    for row in &mut rows {
        let mut kept = is_kept.iter();
        row.retain(|_| kept.next() == Some(&true));
    }
    for cell in rows.iter_mut().skip(1).flatten().filter(|cell| *cell == "-") {
        *cell = "unknown".into();
    }
    let widths: Vec<usize> = (0..rows[0].len())
        .map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(column, (cell, width))| match column {
                0 | 1 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            })
            .collect();
        let _ = writeln!(text, "  {}", cells.join("  ").trim_end());
    }
    let is_measure = answer.standings.iter().any(|standing| !standing.is_eligible);
    let measure = if is_measure { "; ( the measure of what it costs to keep faults apart" } else { "" };
    let _ = writeln!(
        text,
        "  * advised; = level with the best; behind by a factor in {}, with its 95% interval{measure}",
        answer.metric.words.noun
    );
    text
}

fn nanos(value: f64) -> String {
    Nanos(value.round() as u64).to_string()
}

fn behind(standing: &Standing) -> String {
    standing.behind.map_or_else(|| "best".into(), factor)
}

/// `1.23 [1.10, 1.40]`
fn factor(against: Against) -> String {
    match against.interval {
        Some((low, high)) => format!("{:.2} [{low:.2}, {high:.2}]", against.factor),
        None => format!("{:.2} [too few for an interval]", against.factor),
    }
}

/// `1.23 times [1.10, 1.40]`
fn times(against: Against) -> String {
    factor(against).replacen(' ', " times ", 1)
}

/// What is better about it, after a number of times.
fn more(answer: &LevelAnswer) -> &'static str {
    match answer.metric.name {
        "throughput" => "as many requests per second as",
        _ => "less CPU time for each request than",
    }
}

fn answered(page: &mut Page, answer: &LevelAnswer, case: &Case) {
    let (build, cpus) = (answer.build, case.cpus);
    page.line("  ", &format!("Build {}: {}.", build.name, build.build));
    if let Some(most) = answer.hardly_loaded() {
        page.item(&format!(
            "Read with care: the servers were hardly loaded, and none used more than {most:.2} of a CPU. Their requests per \
             second say how soon replies came, or how fast a disk or the load is, and not what a server can do: ask again with \
             more connections for that."
        ));
    }
    match build.workers.map(|of| of(case)) {
        None => page.item("It has a worker for each connection."),
        Some(1) => {}
        Some(workers) => page.item(&format!("It was run with {workers} workers.")),
    }
    if case.isolation && build.isolates == Isolation::Share {
        page.item(
            "A fault ends one of its processes with its share of the connections, and leaves those of the others alone: \
             to leave all others alone takes a process for each connection.",
        );
    }
    let advised = answer.standing(build.name);
    let level: Vec<&Standing> = answer.level().filter(|s| s.contender.name != build.name).collect();
    if !level.is_empty() {
        let names: Vec<&str> = level.iter().map(|standing| standing.contender.name).collect();
        let edge = |s: &Standing| s.behind.and_then(|b| b.interval).map_or(1.0, |(_, high)| high);
        let widest = level.iter().copied().chain(advised).map(edge).fold(1.0, f64::max);
        page.item(&format!(
            "Level with it: {}. No difference between them and the best is proved, and none above {:.0}% is likely; of \
             those that are level the cheapest in CPU time is advised, then the simplest.",
            names.join(", "),
            (widest - 1.0) * 100.0
        ));
    }
    let of_advised = advised.and_then(|standing| standing.behind).map_or(1.0, |behind| behind.factor);
    for standing in &answer.standings {
        let Some(behind) = standing.behind.filter(|b| b.is_declared && standing.is_eligible) else {
            continue;
        };
        let best = answer.best().contender.name;
        // What was compared is the best, which need not be what is advised.
        let who = if of_advised == 1.0 { "It does".to_owned() } else { format!("{best} does") };
        let sentence = match answer.metric.name {
            "throughput" => format!("{who} {} {} {}.", times(behind), more(answer), standing.contender.name),
            _ => format!("{} needs {} the CPU time of {best}.", standing.contender.name, times(behind)),
        };
        page.item(&sentence);
    }
    if let Some(cost) = answer.isolation_cost() {
        let declared = if cost.is_declared { "" } else { " (not proved)" };
        page.item(&format!(
            "To keep faults apart costs: one event loop in one process does {} {} it{declared}.",
            times(cost),
            more(answer).replace("less CPU time for each request than", "the work for the CPU time of"),
        ));
    }
    let samples = answer.standings.iter().map(|standing| standing.samples).min().unwrap_or(0);
    let control = match answer.control {
        Some(control) => format!("; two equal servers differ by {} here", factor(control)),
        None => String::new(),
    };
    page.item(&format!(
        "How sure: {samples} samples of each; a difference counts if it is significant at 5%, corrected for the number of \
         candidates, and above 5%{control}."
    ));
    // On a quiet machine that is nearly all of them, or one, for a single loop.
    if let Some(used) = answer.best().cpus_used() {
        page.item(&format!(
            "The best one used {used:.2} of the {cpus} CPU{} of the servers.",
            if cpus == 1 { "" } else { "s" }
        ));
    }
    if let Some((first, kind, reason)) = answer.doubts.first() {
        let names: Vec<&str> = answer.doubts.iter().map(|(contender, _, _)| contender.name).collect();
        page.item(&format!(
            "Read with care: there is a doubt of the measurement of {}. {} is {}: {reason}.",
            names.join(", "),
            first.name,
            kind.name()
        ));
    }
    if let Some(needed) = answer.needed {
        page.item(&format!(
            "That is too few for a decision: {needed} are needed. Allow more time with --within."
        ));
    }
    if answer.metric.name != "throughput" {
        page.item("The load generator was at its limit, so that CPU time decides and not the rate.");
    }
}

fn probed(page: &mut Page, probe: &Probe, tried: &Tried, advice: &Advice<'_>, main: &LevelAnswer) {
    let axis = probe.axis;
    let head = format!("{} (now {})", axis.noun(), axis.shown(axis.level(advice.case)));
    let (measured, turns): (_, &Turns) = match tried {
        Tried::Measured(measured, turns) => (measured, turns),
        Tried::Not(why) => return page.item(&format!("{head}: not tried, {why}.")),
        Tried::Planned => return,
    };
    let mut parts: Vec<String> = turns.levels.iter().map(|turn| shown(turn, turns, main)).collect();
    if turns.levels.is_empty() {
        parts.push("nothing could be measured".into());
    }
    let is_missing = |level: &&u64| turns.levels.iter().all(|turn| turn.level != **level);
    let missing: Vec<String> =
        probe.levels.iter().filter(is_missing).map(|&level| axis.shown(level)).collect();
    if !missing.is_empty() && !turns.levels.is_empty() {
        parts.push(format!("{} could not be measured in the time", missing.join(" and ")));
    }
    parts.extend(probe.note.clone());
    page.item(&format!("{head}: {}. ({})", parts.join("; "), measured.path.display()));
}

/// One level in words.
fn shown(turn: &Turn, turns: &Turns, main: &LevelAnswer) -> String {
    let level = turns.axis.shown(turn.level);
    let advised = main.build.name;
    let best = turn.best.name;
    match (turn.holds, turn.ahead) {
        (None, _) => format!("at {level} {best} is best, and {advised} could not be measured"),
        (Some(true), None) => format!("at {level} it holds"),
        (Some(true), Some(ahead)) => format!("at {level} it holds, level with {best} ({})", factor(ahead)),
        (Some(false), ahead) => {
            let by = ahead.map(|ahead| format!(", {} better", times(ahead))).unwrap_or_default();
            let near = turn.near.map(|near| format!(", and the order turns near {}", turns.axis.shown(near)));
            format!("at {level} {best} is best{by}{}", near.unwrap_or_default())
        }
    }
}

fn host(page: &mut Page, advice: &Advice<'_>) {
    if !advice.host.iter().any(Judgement::is_wrong) {
        page.line("  ", "None of those that matter for this load stands in the way on this machine.");
    }
    for judgement in advice.host.iter().take(RULES_MAX) {
        let rule = judgement.rule;
        let state = match &judgement.verdict {
            Verdict::Wrong { found, wanted, .. } => format!("{found}, wanted {wanted}"),
            Verdict::Consider { found, wanted, .. } => format!("worth a thought: {found}, could be {wanted}"),
            _ => continue,
        };
        let mend = match judgement.verdict.mend() {
            Some(mend) if mend.settings.is_empty() => mend.by_hand.clone(),
            _ => format!("pitot host apply {}", rule.name),
        };
        let sure = format!("({})", rule.sources());
        page.item(&format!("{}: {state}. {} {sure} To change it: {mend}", rule.name, rule.why));
    }
    let not_shown: Vec<&str> =
        advice.host.iter().skip(RULES_MAX).map(|judgement| judgement.rule.name).collect();
    if !not_shown.is_empty() {
        page.line("  ", &format!("{} more of them: {}", not_shown.len(), not_shown.join(", ")));
    }
    if advice.host_others > 0 {
        let others = units::counted(advice.host_others as u64, "other stands", "others stand");
        page.line("  ", &format!("{others} in the way, but matter less for it: pitot host check"));
    }
}
