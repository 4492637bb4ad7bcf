use super::*;
use crate::outcome::GateOutcome;
use pitot_host::HostChange;

fn commit(number: usize) -> String {
    format!("{number:02x}{}", "0".repeat(38))
}

/// A run of a cell, with a ratio to a reference if it has one.
fn run(number: usize, value: f64, ratio: Option<(&str, f64)>) -> RunFigures {
    let ratio = ratio.map(|(identity, value)| Ratio {
        identity: identity.to_owned(),
        reference: "nginx".to_owned(),
        value,
        interval: Some([value * 0.99, value * 1.01]),
    });
    let cell = CellFigure { cell: "a".into(), value, interval: Some([value * 0.99, value * 1.01]), ratio };
    RunFigures {
        file: format!("{number}.pitot").into(),
        id: format!("id {number}"),
        plan: "p".into(),
        metric: "cpu-per-request".into(),
        version: "1".into(),
        started_at: format!("2026-11-{:02}T12:00:00Z", number + 1),
        labels: vec![(COMMIT.into(), commit(number))],
        machine: "m".into(),
        cells: vec![cell],
    }
}

/// Runs that differ by up to 0.2%, and from `step` on are higher by 5%.
fn stepped(count: usize, step: usize) -> Vec<RunFigures> {
    let value = |n: usize| 10_000.0 * (1.0 + 0.0005 * ((n * 7_919) % 5) as f64);
    (0..count).map(|n| run(n, value(n) * if n >= step { 1.05 } else { 1.0 }, None)).collect()
}

#[test]
fn a_step_is_found_between_two_runs_and_told_in_all_formats() {
    let mut history = History::of(stepped(20, 12), None);
    let [line] = &history.lines[..] else { panic!("{:?}", history.lines) };
    let [change] = &line.changes[..] else { panic!("{:?}", line.changes) };
    assert_eq!((change.at, line.tone(change)), (12, crate::Tone::Bad));
    assert!((change.ratio - 1.05).abs() < 0.004 && change.interval.contains(1.05), "{change:?}");
    history.judge(Condition::Worse, None);
    let fact = |name: &str| HostChange {
        group: "kernel".into(),
        name: name.into(),
        before: Some("6.1".into()),
        after: None,
    };
    history.lines[0].changes[0].also_changed = vec![fact("release")];
    for format in [Format::Terminal, Format::Html, Format::Markdown, Format::Github] {
        let text = history.report(format).unwrap();
        assert!(text.contains("worse") && text.contains("0c00000000"), "{format:?}: {text}");
    }
    assert!(history.report(Format::Markdown).unwrap().contains("also changed: kernel release: 6.1 → –"));
    let json: serde_json::Value = serde_json::from_str(&history.report(Format::Json).unwrap()).unwrap();
    assert_eq!(json["schema"], "pitot-history/1");
    let change = &json["series"][0]["changes"][0];
    assert_eq!((&change["before"]["run"], &change["after"]["run"]), (&"id 11".into(), &"id 12".into()));
    assert_eq!(json["gate"]["conditions"][0]["state"], "met");
    let csv = history.report(Format::Csv).unwrap();
    assert_eq!(csv.lines().count(), 21);
    assert!(csv.lines().nth(13).unwrap().ends_with(&line_ratio(&history)), "{csv}");
}

fn line_ratio(history: &History) -> String {
    history.lines[0].changes[0].ratio.to_string()
}

#[test]
fn a_level_that_stays_has_no_change_and_a_short_history_is_undecided() {
    let mut history = History::of(stepped(20, 99), None);
    assert!(history.lines[0].changes.is_empty());
    history.judge(Condition::Change, None);
    assert_eq!(history.gate.as_ref().unwrap().outcome, GateOutcome::Passed);
    let mut short = History::of(stepped(3, 1), None);
    short.judge(Condition::Change, None);
    assert_eq!(short.gate.unwrap().outcome.word(), "undecided");
}

#[test]
fn changes_that_are_known_do_not_count() {
    let mut history = History::of(stepped(20, 8), None);
    for (since, state) in [("2026-11-05", "met"), ("2026-11-15", "passed"), (&commit(8)[..], "met")] {
        history.judge(Condition::Change, Some(since));
        assert_eq!(history.gate.as_ref().unwrap().outcome.word(), state, "{since}");
    }
    // Of better and worse.
    let mut better = History::of(stepped(20, 8).into_iter().map(inverted).collect(), None);
    better.judge(Condition::Worse, None);
    assert_eq!(better.gate.as_ref().unwrap().outcome, GateOutcome::Passed);
    better.judge(Condition::Change, None);
    assert_eq!(better.gate.unwrap().outcome.word(), "met");
}

fn inverted(mut run: RunFigures) -> RunFigures {
    run.cells[0].value = 1e8 / run.cells[0].value;
    run
}

#[test]
fn machines_are_lines_of_their_own_and_one_line_of_ratios_to_the_same_reference() {
    let of = |ratio: fn(usize) -> Option<(&'static str, f64)>| {
        let runs = (0..12).map(|n| RunFigures {
            machine: if n % 2 == 0 { "slow".into() } else { "fast".into() },
            ..run(n, if n % 2 == 0 { 20_000.0 } else { 10_000.0 }, ratio(n))
        });
        History::of(runs.collect(), None)
    };
    let without = of(|_| None);
    let machines: Vec<_> = without.lines.iter().map(|line| line.machine.as_deref()).collect();
    assert_eq!(machines, [Some("fast"), Some("slow")]);
    assert!(without.lines.iter().all(|line| line.points.len() == 6 && line.changes.is_empty()));
    let with = of(|n| Some(("nginx 1", 0.8 + 0.001 * (n % 3) as f64)));
    let [line] = &with.lines[..] else { panic!("{:?}", with.lines) };
    assert_eq!((line.machine.as_deref(), line.reference.as_deref()), (None, Some("nginx")));
    assert_eq!((line.points.len(), line.changes.len()), (12, 0));
    // A reference that is another program in some run is none.
    let other = of(|n| Some((if n == 5 { "nginx 2" } else { "nginx 1" }, 0.8)));
    assert_eq!(other.lines.len(), 2);
}

#[test]
fn runs_are_in_the_order_of_their_commits_and_a_copy_counts_once() {
    let mut runs = stepped(6, 99);
    for (n, run) in runs.iter_mut().enumerate() {
        run.labels.push((COMMIT_TIME.into(), format!("2026-01-{:02}T00:00:00Z", 6 - n)));
    }
    let copy = RunFigures { file: "copy.pitot".into(), ..runs[0].clone() };
    runs.push(copy);
    let history = History::of(runs, None);
    let ids: Vec<&str> = history.lines[0].points.iter().map(|point| point.run.id.as_str()).collect();
    assert_eq!(ids, ["id 5", "id 4", "id 3", "id 2", "id 1", "id 0"]);
    let last = History::of(stepped(6, 99), Some(2));
    assert_eq!(last.lines[0].points.len(), 2);
}

/// The commits that a search of `count` commits asks for until it has found that of the step.
fn searched(count: usize, step: usize, asked: &mut Vec<usize>) -> usize {
    let commits: Vec<String> = (0..count).map(commit).collect();
    let all = stepped(count, step);
    *asked = vec![0, count - 1];
    loop {
        let mut measured = asked.clone();
        measured.sort_unstable();
        let history = History::of(measured.iter().map(|n| all[*n].clone()).collect(), None);
        let search = Search::of(&history.lines[0]).unwrap().unwrap();
        let at = |commit: &String| commits.iter().position(|c| c == commit).unwrap();
        let between = &commits[at(&search.before) + 1..=at(&search.after)];
        match search.next(between) {
            Next::Found { commit, before } => {
                assert_eq!(at(&before) + 1, at(&commit));
                return at(&commit);
            }
            Next::Measure { commit, .. } => asked.push(at(&commit)),
        }
    }
}

#[test]
fn a_search_finds_every_place_of_a_step_by_bisection() {
    for step in 1..12 {
        let mut asked = Vec::new();
        assert_eq!(searched(12, step, &mut asked), step);
        assert!(asked.len() <= 6, "{step}: {asked:?}");
    }
}

#[test]
fn a_search_measures_again_what_belongs_to_neither_level_and_needs_commits() {
    let mut runs = stepped(3, 2);
    runs[1].cells[0].value = 10_250.0;
    let search = Search::of(&History::of(runs.clone(), None).lines[0]).unwrap().unwrap();
    assert_eq!(search.unclear.as_deref(), Some(&commit(1)[..]));
    assert_eq!(Search::of(&History::of(stepped(3, 9), None).lines[0]), Ok(None));
    runs[1].labels.clear();
    let why = Search::of(&History::of(runs, None).lines[0]).unwrap_err();
    assert!(why.contains("1.pitot has no label `commit`"), "{why}");
}
