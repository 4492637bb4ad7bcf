//! An answer for people: one page.

use pitot_host::check::{Judgement, Verdict};
use pitot_meter::Nanos;
use pitot_meter::units::{counted, grouped, span};
use pitot_report::document::{Block, Column, Document, Entry, Group, Item, Mark, Row, Table};
use pitot_study::advise::{Against, Case, Choice, Isolation, LevelAnswer, Probe, Standing, Turn, Turns};

use super::advice::{Advice, Tried};

/// Rules of the host that are shown in full.
const RULES_MAX: usize = 6;

pub(super) fn page(advice: &Advice<'_>) -> Document {
    let (servers, load) = &advice.cpus;
    let mut blocks = vec![
        Block::Paragraph(advice.case.in_words()),
        Block::Paragraph(format!("servers on CPU {servers}, load on CPU {load}, loopback")),
    ];
    blocks.extend(advice.notes.iter().map(Block::paragraph));
    let known = advice.known.iter().map(|known| format!("{} ({}, {})", known.says, known.source, known.year));
    blocks.push(Block::section("known", "Known", vec![Block::list(known)]));
    match &advice.measured {
        None => blocks.extend(planned(advice)),
        Some((measured, answer)) => {
            let run =
                format!("{} in {}: {}", measured.times, span(measured.seconds), measured.path.display());
            let failed = answer.failed.iter();
            let failed = failed.map(|(cell, reason)| format!("{cell} could not be measured: {reason}"));
            let run = vec![Block::Paragraph(run), Block::Table(table(answer)), Block::list(failed)];
            blocks.push(Block::section("run", "Run", run));
            blocks.push(left_out(advice));
            let build = Block::Paragraph(format!("Build **{}**: {}.", answer.build.name, answer.build.build));
            let answered = vec![build, Block::List(answered(answer, advice.case))];
            blocks.push(Block::section("answer", "Answer", answered));
            let probes = advice.probes.iter();
            let probed = probes.filter_map(|(probe, tried)| probed(probe, tried, advice, answer));
            blocks.push(Block::section("probes", "What would change it", vec![Block::list(probed)]));
        }
    }
    blocks.push(Block::section("host", "Host rules that matter for this load", host(advice)));
    Document { blocks, ..Document::default() }
}

/// What would be run.
fn planned(advice: &Advice<'_>) -> Vec<Block> {
    let candidates = advice.choices.iter().filter_map(|(contender, choice)| match choice {
        Choice::In(why) => Some(format!("{}, {}: {why}", contender.name, contender.build)),
        Choice::Out(_) => None,
    });
    let probes = advice.probes.iter().map(|(probe, _)| {
        let levels: Vec<String> = probe.levels.iter().map(|&level| probe.axis.shown(level)).collect();
        let note = probe.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
        format!("{}: {}{note}", probe.axis.noun(), levels.join(", "))
    });
    let plan = vec![Block::Output(advice.plan.clone())];
    let then = "Then the best candidates run at other loads";
    vec![
        Block::section("candidates", "Candidates", vec![Block::list(candidates)]),
        left_out(advice),
        Block::section("plan", format!("Plan, about {}", span(advice.estimate_s)), plan),
        Block::section("probes", then, vec![Block::list(probes)]),
    ]
}

/// Excluded candidates by reason.
fn left_out(advice: &Advice<'_>) -> Block {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for (contender, choice) in advice.choices {
        let Choice::Out(why) = choice else { continue };
        if contender.reads_files && advice.case.files.is_none() {
            continue;
        }
        match groups.iter_mut().find(|(reason, _)| *reason == why) {
            Some((_, names)) => names.push(contender.name),
            None => groups.push((why, vec![contender.name])),
        }
    }
    let items = groups.into_iter().map(|(why, names)| format!("{}: {why}", names.join(", ")));
    Block::section("left-out", "Excluded", vec![Block::list(items)])
}

/// The figures of the run.
fn table(answer: &LevelAnswer) -> Table {
    let figure =
        |value: Option<f64>, show: fn(f64) -> String| value.map_or_else(Entry::dash, |v| show(v).into());
    let titles = ["requests/s", "behind by", "CPU/request", "p99", "memory/conn"];
    let row = |standing: &Standing| Row {
        mark: match standing.contender.name == answer.build.name {
            true => Mark::Best,
            false if !standing.is_eligible => Mark::Aside,
            false if answer.is_level(standing.contender.name) => Mark::Level,
            false => Mark::None,
        },
        entries: vec![
            figure(standing.throughput_rps, |rps| grouped(rps.round() as u64)),
            standing.behind.map_or_else(|| "best".into(), |behind| Entry::from(factor(behind))),
            figure(standing.cpu_ns, nanos),
            figure(standing.p99_ns, nanos),
            figure(standing.memory_bytes, |bytes| format!("{:.1} KiB", bytes / 1024.0)),
        ],
        ..Row::of(standing.contender.name)
    };
    let mut rows: Vec<Row> = answer.standings.iter().map(row).collect();
    // Empty columns are dropped.
    let kept: Vec<usize> = (0..titles.len())
        .filter(|&column| rows.iter().any(|row| row.entries[column].text != Entry::dash().text))
        .collect();
    for row in &mut rows {
        row.entries = kept.iter().map(|&column| row.entries[column].clone()).collect();
    }
    let is_measure = answer.standings.iter().any(|standing| !standing.is_eligible);
    let measure = if is_measure { "; ( only measured to show the cost of isolation" } else { "" };
    Table {
        caption: "Candidates".into(),
        corner: "candidate".into(),
        columns: kept.iter().map(|&column| Column::of(titles[column])).collect(),
        groups: vec![Group { rows, ..Group::default() }],
        legend: format!(
            "★ recommended; ≈ not shown to be worse than the best; behind by a factor in {}, with its 95% interval{measure}",
            answer.metric.words.noun
        ),
        ..Table::default()
    }
}

fn nanos(value: f64) -> String {
    Nanos(value.round() as u64).to_string()
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

fn more(answer: &LevelAnswer) -> &'static str {
    match answer.metric.name {
        "throughput" => "as many requests per second as",
        _ => "less CPU time for each request than",
    }
}

fn answered(answer: &LevelAnswer, case: &Case) -> Vec<Item> {
    let (build, cpus) = (answer.build, case.cpus);
    let mut items: Vec<Item> = Vec::new();
    let mut say = |sentence: String| items.push(sentence.into());
    if let Some(most) = answer.hardly_loaded() {
        say(format!(
            "Read with care: no server used more than {most:.2} of a CPU. The requests per second show how fast replies came, or the \
             speed of the disk or the load, not what a server can do. Use more connections for that."
        ));
    }
    match build.workers.map(|of| of(case)) {
        None => say("It uses a worker for each connection.".into()),
        Some(1) => {}
        Some(workers) => say(format!("It was run with {workers} workers.")),
    }
    if case.isolation && build.isolates == Isolation::Share {
        let fault = "A fault ends one of its processes with that process's share of the connections. To protect all other \
                     connections, use a process for each connection.";
        say(fault.into());
    }
    let advised = answer.standing(build.name);
    let level: Vec<&Standing> = answer.level().filter(|s| s.contender.name != build.name).collect();
    if !level.is_empty() {
        let names: Vec<&str> = level.iter().map(|standing| standing.contender.name).collect();
        let edge = |s: &Standing| s.behind.and_then(|b| b.interval).map_or(1.0, |(_, high)| high);
        let widest = level.iter().copied().chain(advised).map(edge).fold(1.0, f64::max);
        say(format!(
            "Tied with it: {}. No difference between them and the best is shown, and none above {:.0}% is likely. Of tied \
             candidates the cheapest in CPU time is recommended, then the simplest.",
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
        // The best was compared, which may not be the recommended one.
        let who = if of_advised == 1.0 { "It does".to_owned() } else { format!("{best} does") };
        let sentence = match answer.metric.name {
            "throughput" => format!("{who} {} {} {}.", times(behind), more(answer), standing.contender.name),
            _ => format!("{} needs {} the CPU time of {best}.", standing.contender.name, times(behind)),
        };
        say(sentence);
    }
    if let Some(cost) = answer.isolation_cost() {
        let declared = if cost.is_declared { "" } else { " (not shown)" };
        say(format!(
            "Isolation has a cost: one event loop in one process does {} {} it{declared}.",
            times(cost),
            more(answer).replace("less CPU time for each request than", "the work for the CPU time of"),
        ));
    }
    let samples = answer.standings.iter().map(|standing| standing.samples).min().unwrap_or(0);
    let control = match answer.control {
        Some(control) => format!("; two equal servers differ by {} on this machine", factor(control)),
        None => String::new(),
    };
    say(format!(
        "Confidence: {samples} samples of each; a difference counts if it is significant at 5%, corrected for the number of \
         candidates, and above 5%{control}."
    ));
    if let Some(used) = answer.best().cpus_used() {
        say(format!(
            "The best one used {used:.2} of the {cpus} CPU{} of the servers.",
            if cpus == 1 { "" } else { "s" }
        ));
    }
    if let Some((first, kind, reason)) = answer.doubts.first() {
        let names: Vec<&str> = answer.doubts.iter().map(|(contender, _, _)| contender.name).collect();
        say(format!(
            "Read with care: the measurement of {} is doubtful. {} is {}: {reason}.",
            names.join(", "),
            first.name,
            kind.name()
        ));
    }
    if let Some(needed) = answer.needed {
        say(format!("That is too few for a decision: {needed} are needed. Increase --within."));
    }
    if answer.metric.name != "throughput" {
        say("The load generator was at its limit, so CPU time decides, not the rate.".into());
    }
    items
}

fn probed(probe: &Probe, tried: &Tried, advice: &Advice<'_>, main: &LevelAnswer) -> Option<String> {
    let axis = probe.axis;
    let head = format!("{} (now {})", axis.noun(), axis.shown(axis.level(advice.case)));
    let (measured, turns): (_, &Turns) = match tried {
        Tried::Measured(measured, turns) => (measured, turns),
        Tried::Not(why) => return Some(format!("{head}: not measured, {why}.")),
        Tried::Planned => return None,
    };
    let mut parts: Vec<String> = turns.levels.iter().map(|turn| shown(turn, turns, main)).collect();
    if turns.levels.is_empty() {
        parts.push("nothing could be measured".into());
    }
    let is_missing = |level: &&u64| turns.levels.iter().all(|turn| turn.level != **level);
    let missing: Vec<String> =
        probe.levels.iter().filter(is_missing).map(|&level| axis.shown(level)).collect();
    if !missing.is_empty() && !turns.levels.is_empty() {
        parts.push(format!("{} could not be measured in this time", missing.join(" and ")));
    }
    parts.extend(probe.note.clone());
    Some(format!("{head}: {}. ({})", parts.join("; "), measured.path.display()))
}

/// One level in words.
fn shown(turn: &Turn, turns: &Turns, main: &LevelAnswer) -> String {
    let level = turns.axis.shown(turn.level);
    let advised = main.build.name;
    let best = turn.best.name;
    match (turn.holds, turn.ahead) {
        (None, _) => format!("at {level} {best} is best, and {advised} could not be measured"),
        (Some(true), None) => format!("at {level} the answer is the same"),
        (Some(true), Some(ahead)) => {
            format!("at {level} the answer is the same, tied with {best} ({})", factor(ahead))
        }
        (Some(false), ahead) => {
            let by = ahead.map(|ahead| format!(", {} better", times(ahead))).unwrap_or_default();
            let near =
                turn.near.map(|near| format!(", and the order changes near {}", turns.axis.shown(near)));
            format!("at {level} {best} is best{by}{}", near.unwrap_or_default())
        }
    }
}

fn host(advice: &Advice<'_>) -> Vec<Block> {
    let mut blocks = Vec::new();
    if !advice.host.iter().any(Judgement::is_wrong) {
        blocks.push(Block::paragraph("This machine violates no rule that matters for this load."));
    }
    let shown = advice.host.iter().take(RULES_MAX).filter_map(|judgement| {
        let rule = judgement.rule;
        let state = match &judgement.verdict {
            Verdict::Wrong { found, wanted, .. } => format!("{found}, wanted {wanted}"),
            Verdict::Consider { found, wanted, .. } => format!("consider: {found}, could be {wanted}"),
            _ => return None,
        };
        let fix = match judgement.verdict.fix() {
            Some(fix) if fix.settings.is_empty() => fix.by_hand.clone(),
            _ => format!("pitot host apply {}", rule.name),
        };
        let sure = format!("({})", rule.sources());
        Some(format!("{}: {state}. {} {sure} To change it: {fix}", rule.name, rule.why))
    });
    blocks.push(Block::list(shown));
    let not_shown: Vec<&str> =
        advice.host.iter().skip(RULES_MAX).map(|judgement| judgement.rule.name).collect();
    if !not_shown.is_empty() {
        blocks.push(Block::Paragraph(format!("{} more: {}", not_shown.len(), not_shown.join(", "))));
    }
    if advice.host_others > 0 {
        let others = counted(advice.host_others as u64, "other rule is", "other rules are");
        let others = format!("{others} violated, but less important for this load: see pitot host check");
        blocks.push(Block::Paragraph(others));
    }
    blocks
}
