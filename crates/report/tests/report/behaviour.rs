//! What every report has to hold to, whatever the run.

use pitot_plan::Levels;
use pitot_record::Run;
use pitot_report::{Format, Gate, GateOutcome, compare, compare_within};
use pitot_results::VerdictKind;

use crate::forms::{render, render_comparison};
use crate::support::{Fixture, SMALL, written};

const WIDE: Fixture = Fixture {
    servers: &["fork+blocking", "thread+blocking", "loop+poll", "loop+epoll-et"],
    levels: &[1, 100, 5000],
    repetitions: 6,
    ..SMALL
};

fn all_within_80_columns(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
    }
}

/// Every element that is opened is closed, in the right order.
fn assert_well_formed(html: &str) {
    const VOID: &[&str] = &["meta", "line", "rect", "polyline", "polygon", "path", "circle", "br"];
    let body = html.split_once("<body>").unwrap().1.split_once("<script>").unwrap().0;
    let mut open: Vec<&str> = Vec::new();
    for part in body.split('<').skip(1) {
        let (tag, _) = part.split_once('>').unwrap();
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "at {}", &part[..part.len().min(80)]);
        } else if !tag.ends_with('/') && !VOID.contains(&name) {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "never closed: {open:?}");
}

fn with_baseline(mut run: Run, factor: &str, level: &str) -> Run {
    run.plan.baseline = Some(Levels(vec![(factor.into(), vec![level.into()])]));
    run
}

/// A later run in which everything but the baseline has become slower, and the baseline has the very figures it had.
fn slower(slowdown: f64) -> Run {
    let mut run = written(&SMALL);
    let slow = written(&Fixture { slowdown, seed: 8, ..SMALL });
    for (cell, slow) in run.cells.iter_mut().zip(slow.cells) {
        if !cell.label().starts_with("fork") {
            *cell = slow;
        }
    }
    run
}

fn outcome(a: &Run, b: &Run, gate: &str) -> GateOutcome {
    let gate: Gate = gate.parse().unwrap();
    gate.judge(&compare(a, b, std::slice::from_ref(&gate)))
}

#[test]
fn a_terminal_report_fits_80_columns() {
    let run = written(&WIDE);
    all_within_80_columns(&render(&run, Format::Terminal));
    let slower = written(&Fixture { slowdown: 1.2, seed: 9, ..WIDE });
    all_within_80_columns(&render_comparison(&compare(&run, &slower, &[]), &[], Format::Terminal));
}

#[test]
fn a_page_is_well_formed_and_refers_to_nothing_outside() {
    let run = written(&WIDE);
    let slower = written(&Fixture { slowdown: 1.2, seed: 9, ..WIDE });
    for page in
        [render(&run, Format::Html), render_comparison(&compare(&run, &slower, &[]), &[], Format::Html)]
    {
        assert_well_formed(&page);
        for reference in ["src=", "href=\"http", "url(", "@import", "<link", "fetch("] {
            assert!(!page.contains(reference), "{reference}");
        }
    }
    assert!(render(&run, Format::Html).contains("Example 9000 &lt;8 cores&gt;"));
}

#[test]
fn a_failed_baseline_gives_way_to_the_last_and_shows_its_last_output() {
    let run = written(&WIDE);
    let text = render(&run, Format::Markdown);
    assert!(text.contains("as many requests per second as **thread+blocking** at 5000"), "{text}");
    assert!(
        text.contains("1 of 12 cells failed and has no figures: **fork+blocking at 5000 connections**."),
        "{text}"
    );
    let text = render(&run, Format::Terminal);
    assert!(text.contains("last output: pitot: fork: Resource temporarily unavailable (EAGAIN)"), "{text}");
}

#[test]
fn a_cell_with_some_failed_repetitions_keeps_its_figures_and_says_how_many_failed() {
    let mut run = written(&SMALL);
    let cell = run.cells.iter_mut().find(|c| c.label() == "loop+epoll-et, 1000").unwrap();
    for repetition in &mut cell.repetitions[1..3] {
        repetition.verdict.kind = VerdictKind::Failed;
        repetition.verdict.reason = "the server ended by signal SIGSEGV".into();
        repetition.output_tail = "server:\nassertion failed\n".into();
    }
    let text = render(&run, Format::Terminal);
    let row = text.lines().find(|l| l.contains("loop+epoll-et") && l.contains("2 of 6 failed")).unwrap();
    assert!(row.contains(" k ") && row.contains("valid, 2 of 6 failed"), "{row}");
    all_within_80_columns(&text);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("2 of 6 repetitions failed: the server ended by signal SIGSEGV"), "{text}");
    assert!(text.contains("last output: assertion failed"), "{text}");
    assert!(text.contains("2 repetitions failed and were excluded"), "{text}");
    let page = render(&run, Format::Html);
    assert_well_formed(&page);
    assert!(page.contains("<span class=\"chip failed\">2 of 6 failed</span>"));
    assert!(render(&run, Format::Markdown).contains("valid, 2 of 6 failed"));
    assert!(render(&run, Format::Csv).contains("loop+epoll-et,1000,valid,throughput"));
    let json: serde_json::Value = serde_json::from_str(&render(&run, Format::Json)).unwrap();
    let cell = json["cells"].as_array().unwrap().iter().find(|c| c["repetitions"]["failed"] == 2).unwrap();
    assert_eq!(cell["figures"]["throughput"]["repetitions"], 4);
}

#[test]
fn a_cell_that_missed_its_rate_is_not_trusted() {
    let mut run = written(&SMALL);
    for repetition in &mut run.cells[0].repetitions {
        repetition.verdict.kind = VerdictKind::RateMissed;
        repetition.verdict.reason = "50% of the requests that were due could not be sent".into();
    }
    let text = render(&run, Format::Markdown);
    assert!(text.contains("1 of 6 cells did not reach the rate that was asked for"), "{text}");
    let page = render(&run, Format::Html);
    assert!(page.contains("5 valid, 1 rate-missed</p>"), "the tally counts every cell");
}

#[test]
fn the_headline_names_the_servers_that_failed() {
    let mut run = written(&SMALL);
    for cell in
        run.cells.iter_mut().filter(|c| c.label().ends_with(", 1000") && !c.label().starts_with("fork"))
    {
        for repetition in &mut cell.repetitions {
            repetition.verdict.kind = VerdictKind::Failed;
            repetition.verdict.reason = "`./gosrv` could not be started".into();
        }
    }
    let text = render(&run, Format::Markdown);
    let failed =
        "; **thread+blocking at 1000 connections** and **loop+epoll-et at 1000 connections** failed.";
    assert!(text.contains(failed), "{text}");
}

#[test]
fn a_fall_that_is_not_significant_is_not_told_as_no_fall() {
    let crowded = Fixture { servers: &["fork+blocking", "loop+epoll-et"], levels: &[100, 4000], ..SMALL };
    let fell = render(&written(&crowded), Format::Markdown);
    assert!(fell.contains("**fork+blocking** fell furthest below its peak"), "{fell}");
    let two = render(&written(&Fixture { repetitions: 2, ..crowded }), Format::Markdown);
    assert!(!two.contains("below its peak"), "{two}");
}

#[test]
fn intervals_of_six_repetitions_are_not_said_to_cover_more_than_they_do() {
    let text = render(&written(&SMALL), Format::Markdown);
    assert!(text.contains("[ ] 96.9% interval of the median"), "{text}");
    assert!(text.contains("covers the true median in 96.9% of runs"), "{text}");
    let mut mean = written(&SMALL);
    mean.plan.statistic = pitot_stats::Statistic::TrimmedMean(1);
    assert!(render(&mean, Format::Markdown).contains("[ ] nominal 95% interval"));
}

#[test]
fn a_single_cell_is_no_plural() {
    let mut run = written(&Fixture { servers: &["loop+epoll-et"], levels: &[10], ..SMALL });
    assert!(!render(&run, Format::Markdown).contains("1 cells"));
    for repetition in &mut run.cells[0].repetitions {
        repetition.verdict.kind = VerdictKind::Noisy;
    }
    let text = render(&run, Format::Markdown);
    assert!(text.contains("The only cell was noisy: **loop+epoll-et**."), "{text}");
}

#[test]
fn a_baseline_that_is_a_load_compares_each_server_with_itself() {
    let run = with_baseline(written(&WIDE), "load.connections", "1");
    let text = render(&run, Format::Markdown);
    assert!(text.contains("ratio to 1 connection |"), "{text}");
    assert!(!text.contains("requests per second as **loop+epoll-et** at"), "{text}");
}

#[test]
fn too_few_repetitions_give_ranges_and_no_verdict() {
    let run = written(&Fixture { repetitions: 3, ..SMALL });
    all_within_80_columns(&render(&run, Format::Terminal));
    let text = render(&run, Format::Markdown);
    assert!(text.contains("3 repetitions are too few for a 95% interval, which needs 6"), "{text}");
    assert!(text.contains("(too few to tell: 3 repetitions, 5 needed)"), "{text}");
    let none = "No winner at 1000 connections: **loop+epoll-et** handled the most requests per second, ";
    assert!(text.contains(none), "{text}");
    let why = ", but 3 repetitions are too few to tell it from **thread+blocking** and **fork+blocking**.";
    assert!(text.contains(why), "{text}");
    assert!(!text.contains(" led at "), "{text}");
    assert!(text.contains("( ) range of the repetitions"), "{text}");
}

#[test]
fn a_run_without_a_figure_says_so_in_every_format() {
    let mut run = written(&SMALL);
    for cell in &mut run.cells {
        cell.repetitions.clear();
    }
    assert!(render(&run, Format::Terminal).contains("There is no answer yet"));
    assert!(render(&run, Format::Terminal).contains("it has 0 of 36 repetitions"));
    assert_well_formed(&render(&run, Format::Html));
    for format in [Format::Markdown, Format::Csv, Format::Json] {
        assert!(!render(&run, format).is_empty());
    }
    run.cells.clear();
    assert_well_formed(&render(&run, Format::Html));
}

#[test]
fn every_csv_record_has_as_many_fields_as_the_head() {
    let csv = render(&written(&SMALL), Format::Csv);
    let count = |line: &str| line.split(',').count();
    let head = csv.lines().next().unwrap();
    assert!(head.starts_with("server,load.connections,verdict,metric,unit,value"), "{head}");
    assert!(csv.lines().all(|line| count(line) == count(head)));
}

#[test]
fn a_run_compared_with_itself_has_no_difference_and_passes_its_gates() {
    let run = written(&SMALL);
    let comparison = compare(&run, &run, &[]);
    assert_eq!(comparison.pairs.len(), 6);
    let declared = comparison.metrics.iter().flat_map(|t| &t.rows).filter_map(|r| r.comparison.as_ref());
    assert!(declared.clone().count() > 0);
    assert!(declared.clone().all(|c| !c.decision.is_difference()));
    assert_eq!(outcome(&run, &run, "throughput < -5%"), GateOutcome::Passed);
    let text = render_comparison(&comparison, &[], Format::Terminal);
    assert!(text.contains("it is compared with itself"), "{text}");
}

#[test]
fn a_gate_is_met_by_a_declared_difference_beyond_it_and_by_nothing_less() {
    let run = written(&SMALL);
    let slower = slower(1.5);
    let GateOutcome::Met(cells) = outcome(&run, &slower, "throughput < -5%") else {
        panic!("it should be met")
    };
    assert_eq!(cells.len(), 4, "the baseline is what they are measured by: {cells:?}");
    assert_eq!(outcome(&run, &slower, "throughput < -50%"), GateOutcome::Passed);
    assert_eq!(outcome(&run, &slower, "throughput > +5%"), GateOutcome::Passed);
    // The same machine on another day: noise only. How little the reference has moved is one observation of how far it may.
    assert_eq!(outcome(&run, &self::slower(1.0), "throughput < -20%"), GateOutcome::Passed);
    let again = written(&Fixture { seed: 8, ..SMALL });
    assert!(matches!(outcome(&run, &again, "throughput < -5%"), GateOutcome::Undecided(_)));
}

#[test]
fn a_gate_whose_limit_lies_in_an_interval_is_undecided_and_says_what_would_decide_it() {
    let run = written(&SMALL);
    let undecided = |other: &Run, gate: &str| match outcome(&run, other, gate) {
        GateOutcome::Undecided(reasons) => reasons.join("; "),
        other => panic!("{gate}: {other:?}"),
    };
    // Nothing has changed, and an interval round no change does hold it.
    let same = undecided(&run, "throughput < 0%");
    assert!(same.contains("includes the limit") && same.contains("too close to the limit"), "{same}");
    // 8% slower: neither clearly beyond 5% nor clearly not.
    let slower = slower(1.08);
    let near = undecided(&slower, "throughput < -5%");
    assert!(near.contains("repetitions would decide it"), "{near}");
    // Where the reference itself moved by more than the limit is away, no number of repetitions helps.
    let mut moved = slower;
    for cell in moved.cells.iter_mut().filter(|c| c.label().starts_with("fork")) {
        for load in cell.repetitions.iter_mut().filter_map(|r| r.load.as_mut()) {
            load.throughput_rps *= 1.1;
        }
    }
    let far = undecided(&moved, "throughput < -5%");
    assert!(far.contains("measure both servers in one run") && !far.contains("would decide it"), "{far}");
}

/// A run in which every cell has this verdict.
fn all_with(fixture: &Fixture, kind: VerdictKind) -> Run {
    marked(written(fixture), kind)
}

fn marked(mut run: Run, kind: VerdictKind) -> Run {
    for repetition in run.cells.iter_mut().flat_map(|c| &mut c.repetitions) {
        repetition.verdict.kind = kind;
    }
    run
}

#[test]
fn a_gate_is_neither_met_nor_passed_by_a_cell_whose_figures_are_not_its_servers() {
    let run = written(&SMALL);
    for slowdown in [1.0, 3.0] {
        for kind in [VerdictKind::NetworkBound, VerdictKind::RateMissed] {
            let disturbed = all_with(&Fixture { slowdown, ..SMALL }, kind);
            let GateOutcome::Undecided(reasons) = outcome(&run, &disturbed, "cpu-per-request > +50%") else {
                panic!("it decides nothing")
            };
            assert_eq!(reasons[0], format!("thread+blocking, 10 was {}: measure it again", kind.name()));
        }
    }
}

#[test]
fn a_noisy_cell_is_judged_by_its_interval() {
    let run = written(&SMALL);
    let noisy = |slowdown: f64| marked(slower(slowdown), VerdictKind::Noisy);
    assert_eq!(outcome(&run, &noisy(1.0), "cpu-per-request > +50%"), GateOutcome::Passed);
    assert!(matches!(outcome(&run, &noisy(3.0), "cpu-per-request > +50%"), GateOutcome::Met(_)));
    let GateOutcome::Undecided(reasons) = outcome(&run, &noisy(1.08), "throughput < -5%") else {
        panic!("an interval holds the limit")
    };
    assert!(reasons.iter().any(|r| r.ends_with("(it was noisy: measure it again)")), "{reasons:?}");
}

#[test]
fn a_gate_on_noise_is_met_by_noise() {
    let run = written(&SMALL);
    let noisy = all_with(&SMALL, VerdictKind::Noisy);
    assert_eq!(outcome(&run, &run, "noisy"), GateOutcome::Passed);
    let GateOutcome::Met(cells) = outcome(&run, &noisy, "noisy") else { panic!("every cell is noisy") };
    assert_eq!((cells.len(), cells[0].as_str()), (6, "fork+blocking, 10 was noisy"));
    assert_eq!(outcome(&run, &run, "spread > 50%"), GateOutcome::Passed);
    assert!(matches!(outcome(&run, &run, "spread > 0%"), GateOutcome::Met(_)));
}

#[test]
fn a_limit_is_judged_by_the_second_run_alone() {
    let small = Fixture { servers: &["loop+epoll-et"], levels: &[10], ..SMALL };
    let (fast, slow) = (written(&small), written(&Fixture { slowdown: 2.0, ..small }));
    // 10 connections at some 80 k a second: 0.12 ms each, and twice that where it is slow.
    assert_eq!(outcome(&slow, &fast, "p50 > 0.2ms"), GateOutcome::Passed);
    let GateOutcome::Met(cells) = outcome(&fast, &slow, "p50 > 0.2ms") else { panic!("it is slow") };
    assert!(cells[0].starts_with("loop+epoll-et, 10 has 2") && cells[0].contains(" µs ["), "{cells:?}");
    let value: f64 =
        fast.cells[0].figures(pitot_record::METRICS.iter().find(|m| m.name == "throughput").unwrap())[0].1;
    let GateOutcome::Undecided(why) = outcome(&slow, &fast, &format!("throughput < {value:.0}")) else {
        panic!("one of six repetitions lies in the interval")
    };
    assert!(why[0].contains("includes the limit"), "{why:?}");
    let few = written(&Fixture { repetitions: 3, ..small });
    let GateOutcome::Undecided(why) = outcome(&few, &few, "p50 > 0.2ms") else {
        panic!("there is no interval")
    };
    assert!(why[0].ends_with("run with --repetitions 6"), "{why:?}");
}

#[test]
fn a_cell_that_vanished_leaves_every_gate_undecided() {
    let both = written(&SMALL);
    let mut less = both.clone();
    less.cells.retain(|c| c.label() != "thread+blocking, 1000");
    for gate in ["throughput < -50%", "p99 > 10s", "noisy", "spread > 90%"] {
        let GateOutcome::Undecided(why) = outcome(&both, &less, gate) else { panic!("{gate}") };
        assert_eq!(why, ["thread+blocking, 1000 is missing from the second run"], "{gate}");
        // One that is new is no reason to worry.
        assert_eq!(outcome(&less, &both, gate), GateOutcome::Passed, "{gate}");
    }
}

#[test]
fn a_cell_that_failed_in_the_first_run_is_not_passed_over() {
    let healthy = written(&Fixture { servers: &["fork+blocking", "loop+epoll-et"], levels: &[100], ..SMALL });
    let mut broken = healthy.clone();
    for repetition in &mut broken.cells[0].repetitions {
        repetition.verdict.kind = VerdictKind::Failed;
    }
    for (b, words) in [(&healthy, "failed in the first run"), (&broken, "failed in both runs")] {
        let GateOutcome::Undecided(why) = outcome(&broken, b, "throughput < -50%") else { panic!("{words}") };
        assert!(why[0].contains(words), "{why:?}");
    }
}

#[test]
fn continuous_integration_gets_annotations_and_test_cases() {
    let a = written(&SMALL);
    let mut b = slower(1.5);
    b.cells.retain(|c| c.label() != "thread+blocking, 1000");
    let failing = b.cells.iter_mut().find(|c| c.label() == "thread+blocking, 10").unwrap();
    for repetition in &mut failing.repetitions {
        repetition.verdict.kind = VerdictKind::Failed;
        repetition.verdict.reason = "the server ended by signal \u{1b}SIGSEGV & <more>".into();
    }
    let gates = ["throughput < -5%", "p99 > 10s"].map(|text| text.parse::<Gate>().unwrap());
    let comparison = compare(&a, &b, &gates);
    let judged = gates.map(|gate| (gate.clone(), gate.judge(&comparison)));
    let lines = render_comparison(&comparison, &judged, Format::Github);
    assert!(lines.lines().all(|l| ["::error ", "::warning ", "::notice "].iter().any(|w| l.starts_with(w))));
    assert!(
        lines.starts_with("::error title=gate throughput < -5%25::gate 'throughput < -5%25': met:"),
        "{lines}"
    );
    assert!(
        lines.contains("::error title=thread+blocking%2C 10 failed::6 of 6 repetitions failed"),
        "{lines}"
    );
    assert!(
        lines.contains("::warning title=thread+blocking%2C 1000::The second run does not have"),
        "{lines}"
    );
    assert!(
        lines.contains("::warning title=loop+epoll-et%2C 10 got worse::requests per second: 0.6"),
        "{lines}"
    );
    let xml = render_comparison(&comparison, &judged, Format::Junit);
    assert!(xml.starts_with("<?xml version=\"1.0\""), "{xml}");
    assert!(xml.contains("<testsuite name=\"cells\" tests=\"6\" failures=\"1\" errors=\"1\">"), "{xml}");
    let gate = "<testsuite name=\"throughput &lt; -5%\" tests=\"4\" failures=\"3\" errors=\"1\">";
    assert!(xml.contains(gate), "{xml}");
    assert!(xml.contains("SIGSEGV &amp; &lt;more&gt;") && !xml.contains('\u{1b}'), "{xml}");
    let lines = render(&b, Format::Github);
    assert!(lines.starts_with("::error title=thread+blocking at 10 connections failed::6 of 6"), "{lines}");
    assert!(lines.lines().last().unwrap().starts_with("::notice title=architectures::"), "{lines}");
    let xml = render(&b, Format::Junit);
    assert!(
        xml.contains("<testsuite name=\"architectures\" tests=\"5\" failures=\"1\" errors=\"0\">"),
        "{xml}"
    );
}

#[test]
fn a_gate_that_cannot_be_decided_does_not_pass() {
    let few = written(&Fixture { repetitions: 3, ..SMALL });
    let GateOutcome::Undecided(why) = outcome(&few, &few, "throughput < -5%") else {
        panic!("it cannot be decided")
    };
    assert!(why[0].contains("--repetitions"), "{why:?}");
    let mut other = written(&SMALL);
    other.cells.clear();
    assert!(matches!(outcome(&few, &other, "throughput < -5%"), GateOutcome::Undecided(_)));
}

#[test]
fn a_cell_that_fails_in_the_second_run_only_meets_every_gate() {
    let healthy = written(&Fixture { servers: &["fork+blocking", "loop+epoll-et"], levels: &[100], ..SMALL });
    let mut broken = healthy.clone();
    for repetition in &mut broken.cells[0].repetitions {
        repetition.verdict.kind = pitot_results::VerdictKind::Failed;
    }
    let GateOutcome::Met(cells) = outcome(&healthy, &broken, "p99 > +50%") else {
        panic!("it should be met")
    };
    assert_eq!(cells, ["fork+blocking, 100 failed in the second run only"]);
}

#[test]
fn what_differs_around_the_runs_comes_first_and_unmatched_cells_are_named() {
    let a = written(&SMALL);
    let mut b = written(&Fixture { levels: &[10, 100], seed: 8, ..SMALL });
    b.host_before.facts[2].value = "powersave".into();
    b.info.version = "0.2.0".into();
    let comparison = compare(&a, &b, &[]);
    assert_eq!(comparison.only_a.len(), 3);
    assert_eq!(comparison.only_b.len(), 3);
    let text = render_comparison(&comparison, &[], Format::Terminal);
    let index = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words} is not in {text}"));
    assert!(index("version pitot: 0.1.0 → 0.2.0") < index("Successful replies per second"));
    assert!(index("→ powersave") < index("Successful replies per second"));
    assert!(text.contains("fork+blocking, 1000"));
}

#[test]
fn commands_that_differ_are_shown_and_the_place_of_pitot_is_not() {
    let (a, mut b) = (written(&SMALL), written(&SMALL));
    for cell in &mut b.cells {
        cell.server_command = cell.server_command.replacen("pitot ", "/elsewhere/pitot ", 1);
    }
    assert!(compare(&a, &b, &[]).differences.iter().all(|d| !d.group.contains("command")));
    for cell in &mut b.cells {
        cell.load_command = cell.load_command.replace("-d 1s", "-d 2s");
    }
    b.cells[0].server_command.push_str(" --workers 2");
    let comparison = compare(&a, &b, &[]);
    let found: Vec<_> = comparison
        .differences
        .iter()
        .filter(|d| d.group.contains("command"))
        .map(|d| (d.group.as_str(), d.before.as_deref(), d.after.as_deref()))
        .collect();
    let load = ("load command", Some("-d 1s"), Some("-d 2s"));
    assert_eq!(found, [("server command", None, Some("--workers 2")), load]);
}

#[test]
fn a_metric_that_was_not_recorded_is_named_with_what_it_needs() {
    let mut run = written(&SMALL);
    run.plan.metric = "setup-time".into();
    let text = render(&run, Format::Markdown);
    assert!(text.contains("no cell has a value of set-up time"), "{text}");
    assert!(text.contains("The metric `setup-time` needs a storm"), "{text}");
}

#[test]
fn servers_that_do_not_differ_are_named_together_with_their_ratio() {
    let run = written(&Fixture { servers: &["loop+epoll-et", "loop+epoll-lt"], levels: &[1000], ..SMALL });
    let text = render(&run, Format::Markdown);
    let none = "No winner: **loop+epoll-et** handled the most requests per second, 138 k, but its lead over \
                **loop+epoll-lt** is not shown to exceed the tolerance of 2%.";
    assert!(text.contains(none), "{text}");
    assert!(text.contains("- Ratio of **loop+epoll-et** to **loop+epoll-lt**: 1.01 [0.98, 1.02]."), "{text}");
}

/// The ratio of two servers, as the first and all other places of a report print it.
#[test]
fn a_pair_has_one_ratio_wherever_it_is_printed() {
    // Two comparisons of six blocks: the table's correction needs the unpaired test, which a sentence must not do without.
    let run = written(&SMALL);
    let json: serde_json::Value = serde_json::from_str(&render(&run, Format::Json)).unwrap();
    let best = json["cells"]
        .as_array()
        .unwrap()
        .iter()
        .find(|c| c["standing"] == "best" && c["factors"]["load.connections"] == "1000");
    let table = &best.unwrap()["figures"]["throughput"]["against_baseline"];
    let shown = |v: &serde_json::Value| {
        let v = v.as_f64().unwrap();
        format!("{v:.*}", if v >= 9.95 { 1 } else { 2 })
    };
    let ends = &table["interval"];
    let text =
        format!("{} times [{}, {}]", shown(&table["ratio"]), shown(&ends["low"]), shown(&ends["high"]));
    let answer = json["details"].to_string();
    assert!(answer.contains(&text), "{text} is not in {answer}");
    let row = format!("{}× [{}, {}]", shown(&table["ratio"]), shown(&ends["low"]), shown(&ends["high"]));
    assert!(render(&run, Format::Markdown).contains(&row), "{row}");
}

#[test]
fn a_statistic_that_takes_more_repetitions_says_how_many() {
    let mut run = written(&Fixture { repetitions: 2, ..SMALL });
    run.plan.statistic = pitot_stats::Statistic::TrimmedMean(1);
    let text = render(&run, Format::Markdown);
    assert!(
        text.contains("so it needs 3 repetitions, and this run has 2: run it with `--repetitions 3`"),
        "{text}"
    );
    assert!(!text.contains("went wrong"), "{text}");
}

/// A program that is measured itself, over a factor of its own.
fn program_run() -> Run {
    let mut run = written(&Fixture { servers: &["loop+epoll-et"], levels: &[10, 1000], ..SMALL });
    run.plan.program = Some("disk files".into());
    run.plan.baseline = None;
    for cell in &mut run.cells {
        cell.server_command.clear();
        cell.factors.remove(0);
        cell.factors[0].name = "disk.sizes".into();
    }
    run
}

#[test]
fn a_program_that_is_measured_itself_is_no_server() {
    let run = program_run();
    let text = render(&run, Format::Terminal);
    assert!(text.contains("Requests per second at size 1000: "), "{text}");
    assert!(!text.contains("server ") && !text.contains("of disk files at size 1000: "), "{text}");
    assert!(!text.contains("too few repetitions to tell"), "{text}");
    assert!(text.contains("\n  size  "), "{text}");
    assert!(text.contains("\n  size 1000  "), "{text}");
    let page = render(&run, Format::Html);
    assert_well_formed(&page);
    assert!(page.contains("To repeat a cell, type its command."));
    assert!(!page.contains("<h3>Server</h3>"));
    assert!(render(&run, Format::Markdown).contains("| size | requests/s |"));
}

#[test]
fn the_summary_says_whether_to_believe_it_before_the_figures() {
    let text = render(&all_with(&SMALL, VerdictKind::Noisy), Format::Terminal);
    let index = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words} is not in {text}"));
    assert!(index("Do not rely on this run: All 6 cells were noisy") < index("  server "), "{text}");
}

#[test]
fn one_load_level_has_a_chart_of_the_plans_metric_with_every_repetition() {
    let page = render(&written(&Fixture { levels: &[100], ..SMALL }), Format::Html);
    let chart = page.split("<section id=\"repetitions\">").nth(1).expect("it is drawn");
    let wide = chart.split("<svg class=\"wide\"").nth(1).unwrap().split("</svg>").next().unwrap();
    assert_eq!(wide.matches("class=\"speck ").count(), 3 * 6);
    assert_eq!(wide.matches("class=\"dot ").count(), 3);
    assert_eq!(wide.matches("class=\"reach\"").count(), 3);
}

#[test]
fn one_wide_interval_is_an_arrow_and_does_not_stretch_the_axis() {
    let mut run = written(&Fixture { levels: &[100], ..SMALL });
    let cell = run.cells.iter_mut().find(|c| c.label().starts_with("fork")).unwrap();
    let resources = cell.repetitions[0].resources.as_mut().unwrap();
    resources.server_cpu_s *= 40.0;
    resources.server_user_s *= 40.0;
    resources.server_system_s *= 40.0;
    let page = render(&run, Format::Html);
    let chart = page.split("<section id=\"cpu-split\">").nth(1).unwrap();
    let wide = chart.split("<svg class=\"wide\"").nth(1).unwrap().split("</svg>").next().unwrap();
    assert!(wide.contains("m-6 -4l6 4l-6 4"), "{wide}");
    assert!(!wide.contains(" ms</text>"), "the axis ends at microseconds: {wide}");
}

#[test]
fn of_many_bands_only_the_best_and_the_baseline_are_seen() {
    let page = render(&written(&WIDE), Format::Html);
    let svg = page.split("<svg class=\"wide\"").nth(1).unwrap().split("</svg>").next().unwrap();
    assert_eq!((svg.matches("class=\"band ").count(), svg.matches(" quiet\"").count()), (4, 2));
    let three = render(&written(&SMALL), Format::Html);
    assert!(!three.split("<style>").next().unwrap().contains(" quiet\""));
    assert!(!three.split("</style>").nth(1).unwrap().contains(" quiet\""));
}

#[test]
fn a_table_that_goes_on_beyond_its_box_can_say_so() {
    let run = written(&SMALL);
    for page in [render(&run, Format::Html), render_comparison(&compare(&run, &run, &[]), &[], Format::Html)]
    {
        let tables = page.matches("<div class=\"scroll results\" tabindex=\"0\">").count();
        assert!(tables > 0);
        assert_eq!(page.matches("<p class=\"scroll-hint\" hidden>").count(), tables);
    }
}

#[test]
fn a_comparison_opens_with_one_sentence() {
    let run = written(&SMALL);
    let of = |b: &Run| {
        let json = render_comparison(&compare(&run, b, &[]), &[], Format::Json);
        serde_json::from_str::<serde_json::Value>(&json).unwrap()["answer"].as_str().unwrap().to_owned()
    };
    assert!(
        of(&run).starts_with("No change of requests per second in 4 cells is shown to exceed"),
        "{}",
        of(&run)
    );
    let slower = slower(1.5);
    let worse = of(&slower);
    assert!(
        worse.starts_with("Requests per second got worse in 4 of 4 cells (most ") && worse.contains(": 0.6"),
        "{worse}"
    );
    let few = written(&Fixture { repetitions: 2, ..SMALL });
    assert!(of(&few).ends_with(" repetitions to tell."), "{}", of(&few));
    let mut other = written(&SMALL);
    other.cells.clear();
    assert_eq!(of(&other), "There is nothing to compare.");
}

#[test]
fn where_only_the_load_varies_its_levels_are_the_rows_of_one_chart() {
    let page = render(&program_run(), Format::Html);
    let chart = page.split("<section id=\"repetitions\">").nth(1).expect("it is drawn");
    let wide = chart.split("<svg class=\"wide\"").nth(1).unwrap().split("</svg>").next().unwrap();
    assert!(wide.contains(">size 10</text>") && wide.contains(">size 1000</text>"), "{wide}");
}

#[test]
fn it_is_said_how_long_a_server_was_loaded_until_its_rate_had_settled() {
    let mut run = written(&SMALL);
    assert!(!render(&run, Format::Markdown).contains("until its rate had settled"));
    for (number, repetition) in run.cells[0].repetitions.iter_mut().enumerate() {
        (repetition.ready_s, repetition.warmup_s) = (4.0, Some(3.0 + number as f64 / 2.0));
    }
    let server = run.cells[0].factors[0].level.clone();
    let told = render(&run, Format::Markdown);
    let wanted = format!("**{server}** was ready 4 s after its start; its rate settled after ");
    assert!(told.contains(&wanted), "{told}");
    assert!(told.contains(" (3 s to "), "{told}");
}

#[test]
fn where_instructions_are_counted_nothing_shows_a_latency() {
    let mut run = written(&SMALL);
    assert!(render(&run, Format::Html).contains("id=\"latency\""));
    let histograms = |run: &Run| run.cells[0].repetitions[0].load.as_ref().unwrap().histograms.clone();
    let kept = histograms(&run);
    run.cells.iter_mut().flat_map(|cell| &mut cell.repetitions).for_each(|r| r.count_instructions());
    assert!(histograms(&run).is_empty());
    // A file of before has them still.
    run.cells[0].repetitions[0].load.as_mut().unwrap().histograms = kept;
    run.plan.metric = "instructions-per-request".into();
    assert!(!render(&run, Format::Html).contains("id=\"latency\""));
}

#[test]
fn errors_are_told_by_cell_and_kind() {
    let mut run = written(&SMALL);
    assert!(!render(&run, Format::Markdown).contains("## Errors"));
    for repetition in run.cells[0].repetitions.iter_mut().take(2) {
        let load = repetition.load.as_mut().unwrap();
        let error = serde_json::json!({"phase": "receive", "kind": "ECONNRESET", "count": 3});
        load.errors.push(serde_json::from_value(error).unwrap());
    }
    let markdown = render(&run, Format::Markdown);
    assert!(markdown.contains("| fork+blocking, 10 | receive ECONNRESET | 6 |"), "{markdown}");
    let terminal = render(&run, Format::Terminal);
    let row = terminal.lines().find(|line| line.contains("receive ECONNRESET")).unwrap();
    assert_eq!(
        row.split_whitespace().take(6).collect::<Vec<_>>().join(" "),
        "fork+blocking, 10 receive ECONNRESET 6 0.0189%",
        "{row}"
    );
    all_within_80_columns(&terminal);
    let html = render(&run, Format::Html);
    assert!(html.contains("<section id=\"errors\">") && html.contains("2 of 6"), "{html}");
    assert_well_formed(&html);
    let json: serde_json::Value = serde_json::from_str(&render(&run, Format::Json)).unwrap();
    assert_eq!(
        (&json["cells"][0]["errors"][0]["count"], &json["cells"][1]["errors"]),
        (&6.into(), &serde_json::json!([]))
    );
}

#[test]
fn hosts_and_their_clocks_are_in_all_formats_and_compared_by_name() {
    let host = |governor: &str| pitot_record::HostRecord {
        name: "far".into(),
        does: "load".into(),
        clock_offset_ns: 1_500_000,
        clock_error_ns: 20_000,
        round_trip_ns: 40_000,
        facts: serde_json::from_value(
            serde_json::json!([{"group": "cpu", "name": "governor", "value": governor}]),
        )
        .unwrap(),
        ..pitot_record::HostRecord::default()
    };
    let (mut a, mut b) = (written(&SMALL), written(&SMALL));
    (a.hosts, b.hosts) = (vec![host("performance")], vec![host("powersave")]);
    let markdown = render(&a, Format::Markdown);
    assert!(markdown.contains("| clock offset | +1.500 ms ± 0.020 |"), "{markdown}");
    let json: serde_json::Value = serde_json::from_str(&render(&a, Format::Json)).unwrap();
    assert_eq!(
        (&json["hosts"][0]["name"], &json["hosts"][0]["clock_offset_ns"]),
        (&"far".into(), &1_500_000.into())
    );
    let compared = compare(&a, &b, &[]);
    let found = compared.differences.iter().find(|change| change.group == "far: cpu").unwrap();
    assert_eq!((found.before.as_deref(), found.after.as_deref()), (Some("performance"), Some("powersave")));
    // Where the server was on the lab's own machine that stands beside the others.
    a.plan.load_hosts = vec!["far".into()];
    let markdown = render(&a, Format::Markdown);
    assert!(markdown.contains("| fact | the lab's machine | far |"), "{markdown}");
    assert!(markdown.contains("| clock offset | – | +1.500 ms ± 0.020 |"), "{markdown}");
    assert!(
        render(&a, Format::Html)
            .contains("<th scope=\"col\">the lab&#39;s machine</th><th scope=\"col\">far</th>")
    );
    b.hosts.clear();
    assert!(compare(&a, &b, &[]).differences.iter().any(|change| change.group == "hosts"));
}

#[test]
fn two_runs_without_a_reference_claim_no_interval_and_decide_no_gate() {
    // The same server on one machine, one run after the other: 0.6 of it, and nothing in either run knows why.
    let small = Fixture { servers: &["loop+epoll-et"], levels: &[100], ..SMALL };
    let (a, b) = (written(&small), written(&Fixture { slowdown: 1.6, seed: 8, ..small }));
    for (gate, run) in [("throughput < -5%", &b), ("throughput < -50%", &b), ("throughput < -5%", &a)] {
        let GateOutcome::Undecided(why) = outcome(&a, run, gate) else { panic!("{gate} is decided") };
        assert!(why[0].contains("the two runs share no reference"), "{why:?}");
    }
    let comparison = compare(&a, &b, &[]);
    let rows = || comparison.metrics.iter().flat_map(|t| &t.rows).filter_map(|row| row.comparison.as_ref());
    assert!(rows().all(|c| c.interval.is_none() && c.p.is_none() && !c.decision.is_decided()));
    let text = render_comparison(&comparison, &[], Format::Terminal);
    let answer = render_comparison(&comparison, &[], Format::Json);
    assert!(text.contains("no reference") && !answer.contains("got better"), "{text}");
    // A baseline of another build is none.
    let (one, mut other) = (written(&SMALL), slower(1.5));
    other.info.version = "9.9.9".into();
    assert!(matches!(outcome(&one, &other, "throughput < -5%"), GateOutcome::Undecided(_)));
}

#[test]
fn what_happened_to_all_of_a_run_is_no_change_of_a_cell() {
    // The whole machine is slower on the second day, the reference with it.
    let (a, b) = (written(&SMALL), written(&Fixture { slowdown: 1.6, seed: 8, ..SMALL }));
    let comparison = compare(&a, &b, &[]);
    let declared = comparison.metrics[0].rows.iter().filter_map(|row| row.comparison.as_ref());
    assert!(declared.clone().count() == 6 && declared.clone().all(|c| !c.decision.is_difference()));
    // How far the reference moved is in every interval.
    let between = comparison.metrics[0].between.unwrap();
    let spread = between.moved.exp();
    assert!((spread - 1.6).abs() < 0.1 && between.observations == 1, "{between:?}");
    let widths: Vec<f64> = declared.filter_map(|c| c.interval).map(|i| i.high / i.low).collect();
    assert!(widths.len() == 4 && widths.iter().all(|width| *width > spread), "{widths:?}");
}

#[test]
fn the_cells_of_one_run_are_judged_against_its_baseline() {
    let run = with_baseline(written(&SMALL), "server", "loop+epoll-et");
    let judge = |text: &str| {
        let gate: Gate = text.parse().unwrap();
        gate.judge(&compare_within(&run, std::slice::from_ref(&gate)))
    };
    let GateOutcome::Met(cells) = judge("throughput < -5%") else { panic!("processes are slower") };
    assert!(cells.iter().any(|cell| cell.starts_with("fork+blocking, 10 has 0.")), "{cells:?}");
    assert_eq!(judge("throughput > +5%"), GateOutcome::Passed);
    let text = render_comparison(&compare_within(&run, &[]), &[], Format::Terminal);
    assert!(
        text.contains("fork+blocking, 10 against loop+epoll-et") && !text.contains("compared with itself"),
        "{text}"
    );
}

fn errors(count: u64) -> pitot_results::load::ErrorRow {
    let (phase, kind) = ("receive".to_owned(), "status 500".to_owned());
    pitot_results::load::ErrorRow { phase, kind, count, first_at_s: 0.0 }
}

#[test]
fn a_server_that_answers_with_errors_is_not_ranked_and_said_to() {
    let mut run = written(&SMALL);
    for cell in run.cells.iter_mut().filter(|c| c.label() == "loop+epoll-et, 1000") {
        for load in cell.repetitions.iter_mut().filter_map(|r| r.load.as_mut()) {
            load.errors = vec![errors(load.requests.attempted / 50)];
        }
    }
    let json: serde_json::Value = serde_json::from_str(&render(&run, Format::Json)).unwrap();
    let answer = json["answer"].as_str().unwrap();
    assert!(answer.starts_with("thread+blocking handled the most requests per second at 1000"), "{answer}");
    assert!(answer.contains("loop+epoll-et is not ranked: 2.0% of its requests had errors"), "{answer}");
    let text = render(&run, Format::Terminal).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("1 of 6 cells answered with errors, 2.0% of the requests: loop+epoll-et at 1000"),
        "{text}"
    );
    // Where all have them, they are ranked by what they have.
    for load in run.cells.iter_mut().flat_map(|c| &mut c.repetitions).filter_map(|r| r.load.as_mut()) {
        load.errors = vec![errors(load.requests.attempted / 50)];
    }
    assert!(render(&run, Format::Terminal).contains("loop+epoll-et handled the most"));
}

#[test]
fn a_run_that_was_stopped_counts_what_it_has() {
    let mut run = written(&SMALL);
    let wanted = run.plan.repetitions;
    run.plan.repetitions = 30;
    run.info.state = pitot_record::RunState::Interrupted;
    let text = render(&run, Format::Terminal).split_whitespace().collect::<Vec<_>>().join(" ");
    for said in ["size 6 cells × 6 of 30 repetitions", "median of 6 of 30 repetitions"] {
        assert!(text.contains(&said.replace("6 of", &format!("{wanted} of"))), "{said}: {text}");
    }
    run.cells[0].repetitions.pop();
    assert!(render(&run, Format::Markdown).contains("median of 5 to 6 of 30 repetitions"));
}

#[test]
fn one_server_that_is_left_is_not_compared_with_itself() {
    let mut run = written(&Fixture { servers: &["fork+blocking", "loop+epoll-et"], levels: &[100], ..SMALL });
    for repetition in
        run.cells.iter_mut().filter(|c| c.label().starts_with("fork")).flat_map(|c| &mut c.repetitions)
    {
        repetition.verdict.kind = VerdictKind::Failed;
    }
    let json: serde_json::Value = serde_json::from_str(&render(&run, Format::Json)).unwrap();
    let answer = json["answer"].as_str().unwrap();
    assert!(answer.starts_with("Only loop+epoll-et has a figure"), "{answer}");
    assert!(answer.ends_with("; fork+blocking failed."), "{answer}");
}

#[test]
fn every_table_has_a_caption_and_every_head_says_what_it_is_the_head_of() {
    let (run, changed) = (written(&SMALL), slower(1.5));
    let compared = render_comparison(&compare(&run, &changed, &[]), &[], Format::Html);
    for page in [render(&run, Format::Html), compared] {
        let body = page.split("</style>").nth(1).unwrap().split("<script>").next().unwrap();
        assert!(body.matches("<table").count() > 0);
        assert_eq!(body.matches("<table").count(), body.matches("<caption>").count());
        assert!(!body.contains("<th>") && !body.contains("<th class"), "a head without its scope");
        assert!(!body.contains("<tr><td"), "a row without its head");
    }
}

#[test]
fn a_server_whose_rate_still_rises_is_not_ranked_and_said_to() {
    let mut run = written(&SMALL);
    let second = |(t_s, completed)| pitot_results::load::Second { t_s, completed, ..Default::default() };
    for cell in run.cells.iter_mut().filter(|c| c.label() == "loop+epoll-et, 1000") {
        for load in cell.repetitions.iter_mut().filter_map(|r| r.load.as_mut()) {
            load.duration_s = 3.0;
            load.series = [(0, 500), (1, 800), (2, 1000)].map(second).to_vec();
        }
    }
    let json: serde_json::Value = serde_json::from_str(&render(&run, Format::Json)).unwrap();
    let answer = json["answer"].as_str().unwrap();
    assert!(answer.starts_with("thread+blocking handled the most requests per second at 1000"), "{answer}");
    assert!(answer.contains("loop+epoll-et is not ranked: its rate still rose"), "{answer}");
    let text = render(&run, Format::Terminal).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("1 of 6 cells was still getting faster while measured, by 100%"), "{text}");
}

/// Gives the replies of the cells whose labels begin so that content.
fn answer_with(run: &mut Run, name: &str, bytes: u64) {
    for cell in run.cells.iter_mut().filter(|c| c.label().starts_with(name)) {
        for load in cell.repetitions.iter_mut().filter_map(|r| r.load.as_mut()) {
            load.bytes.content = Some(load.requests.ok * bytes);
        }
    }
}

#[test]
fn a_server_that_answers_with_less_than_the_others_is_not_ranked_and_said_to() {
    let mut run = written(&SMALL);
    answer_with(&mut run, "", 1024);
    let json = |run: &Run| serde_json::from_str::<serde_json::Value>(&render(run, Format::Json)).unwrap();
    let fair = json(&run)["answer"].as_str().unwrap().to_owned();
    assert!(fair.starts_with("loop+epoll-et handled the most"), "{fair}");
    // An identifier in the body.
    answer_with(&mut run, "loop+epoll-et", 1060);
    assert_eq!(json(&run)["answer"].as_str().unwrap(), fair);
    answer_with(&mut run, "loop+epoll-et", 13);
    let answer = json(&run)["answer"].as_str().unwrap().to_owned();
    assert!(answer.starts_with("thread+blocking handled the most requests per second at 1000"), "{answer}");
    let why = "loop+epoll-et is not ranked: the replies of loop+epoll-et have 13 bytes of content, and those of \
               fork+blocking 1,024 bytes";
    assert!(answer.contains(why), "{answer}");
    let words = |run: &Run| render(run, Format::Terminal).split_whitespace().collect::<Vec<_>>().join(" ");
    let text = words(&run);
    assert!(
        text.contains(" and loop+epoll-et at 1000 connections do not answer alike: the replies of"),
        "{text}"
    );
    assert!(text.contains("They are not ranked."), "{text}");
    run.plan.replies = pitot_plan::Replies::MayDiffer;
    assert_eq!(json(&run)["answer"].as_str().unwrap(), fair);
}

#[test]
fn of_two_servers_that_do_not_answer_alike_neither_wins() {
    let mut run = written(&Fixture { servers: &["thread+blocking", "loop+epoll-et"], ..SMALL });
    answer_with(&mut run, "thread", 1024);
    answer_with(&mut run, "loop", 0);
    let json: serde_json::Value = serde_json::from_str(&render(&run, Format::Json)).unwrap();
    let answer = json["answer"].as_str().unwrap();
    assert!(answer.starts_with("No winner: the replies of"), "{answer}");
    for format in [Format::Markdown, Format::Terminal] {
        let text = render(&run, format).split_whitespace().collect::<Vec<_>>().join(" ");
        // Once in the legend.
        assert!(text.matches('★').count() <= 1 && text.contains("--replies may-differ"), "{text}");
    }
    // What has been measured is shown all the same.
    assert!(render(&run, Format::Html).contains("<svg"));
}

#[test]
fn who_does_other_work_passes_no_gate_on_a_change() {
    let outcome = |run: &Run, gate: &str| {
        let gate: Gate = gate.parse().unwrap();
        gate.judge(&compare_within(run, std::slice::from_ref(&gate)))
    };
    let fair = with_baseline(written(&SMALL), "server", "fork+blocking");
    let gate = "throughput < -5%";
    assert_eq!(outcome(&fair, gate), GateOutcome::Passed);
    let mut run = fair.clone();
    answer_with(&mut run, "", 1024);
    answer_with(&mut run, "loop", 13);
    let GateOutcome::Undecided(cells) = outcome(&run, gate) else { panic!("13 bytes are less work") };
    let why = "loop+epoll-et, 10 answers with 13 bytes of content instead of 1,024, so its change says nothing about speed";
    assert_eq!(cells[0], why);
    // More repetitions would not help: that comes first.
    let mut short = run.clone();
    short.cells.iter_mut().for_each(|cell| cell.repetitions.truncate(3));
    let GateOutcome::Undecided(cells) = outcome(&short, gate) else { panic!("three are too few") };
    assert_eq!(cells[0], why);
    // Who is slower though it does less is slower.
    let slower = with_baseline(run.clone(), "server", "loop+epoll-et");
    assert!(matches!(outcome(&slower, gate), GateOutcome::Met(_)));
    run.plan.replies = pitot_plan::Replies::MayDiffer;
    assert_eq!(outcome(&run, gate), GateOutcome::Passed);
    let mut run = fair.clone();
    for cell in run.cells.iter_mut().filter(|c| c.label().starts_with("loop")) {
        for load in cell.repetitions.iter_mut().filter_map(|r| r.load.as_mut()) {
            load.errors = vec![errors(load.requests.attempted / 50)];
        }
    }
    let GateOutcome::Undecided(cells) = outcome(&run, gate) else { panic!("errors are less work") };
    assert!(cells[0].contains("answered 2.0% of its requests with errors, so its"), "{cells:?}");
    // Of two runs, the replies of both are compared.
    let (mut a, mut b) = (fair.clone(), fair);
    answer_with(&mut a, "", 1024);
    answer_with(&mut b, "", 13);
    let gate: Gate = gate.parse().unwrap();
    let GateOutcome::Undecided(cells) = gate.judge(&compare(&a, &b, &[])) else { panic!("13 for 1,024") };
    assert!(cells[0].contains("answers with different content than in the first run"), "{cells:?}");
}

#[test]
fn a_comparison_within_a_run_speaks_of_one_run_and_says_what_speaks_against_it() {
    let mut run = with_baseline(written(&SMALL), "server", "loop+epoll-et");
    run.info.warnings.push("Other processes used 90% of a CPU".to_owned());
    let gates = ["throughput < -5%", "throughput < -1%"].map(|text| text.parse::<Gate>().unwrap());
    let judged: Vec<(Gate, GateOutcome)> = gates
        .into_iter()
        .map(|gate| {
            let outcome = gate.judge(&compare_within(&run, &[]));
            (gate, outcome)
        })
        .collect();
    for format in [Format::Terminal, Format::Markdown, Format::Github, Format::Json] {
        let text = render_comparison(&compare_within(&run, &[]), &judged, format);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("the value of loop+epoll-et"), "{text}");
        assert!(text.contains("Other processes used 90"), "{text}");
        for other in ["first run", "second run", "value of A", "machines and versions"] {
            assert!(!text.contains(other), "{format:?}, {other}: {text}");
        }
    }
    let github = render_comparison(&compare_within(&run, &[]), &judged, Format::Github);
    assert!(github.contains("that of loop+epoll-et") && github.lines().all(|line| !line.ends_with(' ')));
    // Where all have failed there is no change to speak of.
    for cell in run.cells.iter_mut().filter(|c| !c.label().starts_with("loop")) {
        cell.repetitions.iter_mut().for_each(|r| r.verdict.kind = VerdictKind::Failed);
    }
    let text = render_comparison(&compare_within(&run, &[]), &[], Format::Markdown);
    let said = "No cell can be compared in requests per second: fork+blocking, 10; fork+blocking, 1000; thread+blocking, 10; \
                thread+blocking, 1000 failed.";
    assert!(text.contains(said), "{text}");
}

#[test]
fn what_failed_is_told_once_with_what_it_printed() {
    let mut run = written(&SMALL);
    for cell in run.cells.iter_mut().filter(|c| c.label().starts_with("thread")) {
        for repetition in &mut cell.repetitions {
            repetition.verdict.kind = VerdictKind::Failed;
            repetition.verdict.reason = "the server ended with exit code 3".into();
            repetition.output_tail = "Errors     kind    count  first at\ncannot open config".into();
        }
    }
    let text = render(&run, Format::Terminal).split_whitespace().collect::<Vec<_>>().join(" ");
    for label in ["thread+blocking at 10 connections", "thread+blocking at 1000 connections"] {
        let said = format!("{label}: 6 of 6 repetitions failed: the server ended with exit code 3");
        assert_eq!(text.matches(&said).count(), 1, "{text}");
    }
    assert_eq!(text.matches("last output: cannot open config").count(), 2, "{text}");
    assert!(text.contains("* marks the best figure of another column"), "{text}");
}
