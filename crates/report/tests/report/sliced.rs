//! What a report says of a run that was measured in slices.

use pitot_plan::Measure;
use pitot_record::{Run, RunState};
use pitot_report::{Analysis, Format, Grade, answer, compare, findings, trust};
use serde_json::Value;

use crate::forms::{render, render_comparison};
use crate::slices::{QUIET, SLICED, Slicing, sliced};
use crate::support::Fixture;

const NOISY: Slicing = Slicing { rate_noise: 0.8, ..QUIET };

fn flat(run: &Run) -> String {
    render(run, Format::Terminal).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_control_says_what_this_machine_calls_equal() {
    let run = sliced(&SLICED, QUIET);
    let trust = trust(&Analysis::of(&run));
    assert_eq!(trust.grade, Grade::Good);
    let notes = trust.notes.join("\n");
    assert!(
        notes.contains(
            "Control: the ratio of a second copy of **thread+blocking at 10 connections** to the first is 1.0"
        ),
        "{notes}"
    );
    assert!(
        notes.contains("in requests per second and 1.0") && notes.contains("in CPU time per request"),
        "{notes}"
    );
    assert!(notes.contains("Steal over the run: 2% of the CPU time."), "{notes}");
    let json: Value = serde_json::from_str(&render(&run, Format::Json)).unwrap();
    let controls = json["control"].as_array().unwrap();
    assert_eq!(controls.len(), 4, "two loads in two metrics");
    for control in controls {
        assert_eq!(control["decision"], "no-difference-seen");
        let of = |name: &str| control[name].as_f64().unwrap();
        assert!(of("low") <= of("ratio") && of("ratio") <= of("high") && of("generations") == 12.0);
    }
    assert_eq!((&json["plan"]["generations"], &json["plan"]["slices"]), (&12.into(), &8.into()));
}

#[test]
fn a_twin_that_is_told_apart_makes_the_run_untrustworthy_at_its_top() {
    let run = sliced(&SLICED, Slicing { twin: 1.2, ..QUIET });
    let analysis = Analysis::of(&run);
    assert_eq!(trust(&analysis).grade, Grade::Untrusted);
    let headline = answer(&analysis).headline;
    assert!(
        headline.starts_with(
            "This run cannot be trusted: it finds a difference between two copies of **thread+blocking"
        ),
        "{headline}"
    );
    let json: Value = serde_json::from_str(&render(&run, Format::Json)).unwrap();
    assert_eq!(json["trust"]["trusted"], false);
    assert_eq!(json["control"][0]["decision"], "higher");
    assert!(render(&run, Format::Html).contains("This run cannot be trusted"));
}

#[test]
fn a_cell_of_slices_is_not_told_to_vary_however_far_its_generations_lie_apart() {
    let text = flat(&sliced(&SLICED, NOISY));
    assert!(!text.contains("vary by more than") && !text.contains("outlier"), "{text}");
    assert!(text.contains("8 cells × 12 generations of 8 slices"), "{text}");
    assert!(!text.replace("--repetitions", "").contains("repetition"), "{text}");
}

#[test]
fn where_only_cpu_time_is_decided_it_is_the_answer() {
    let run = sliced(&SLICED, NOISY);
    let analysis = Analysis::of(&run);
    let answer = answer(&analysis);
    assert!(
        answer.headline.contains("as much CPU time per request as **loop+epoll-et**"),
        "{}",
        answer.headline
    );
    assert!(
        answer.headline.contains("In requests per second this run shows no difference"),
        "{}",
        answer.headline
    );
    assert!(answer.details[0].starts_with("No winner"), "{:?}", answer.details);
    let again = findings(&analysis).iter().filter(|f| f.contains("as much CPU time per request as")).count();
    assert_eq!(again, 0, "the findings do not repeat the answer");
    assert!(!findings(&analysis).iter().any(|f| f.contains("its own peak")), "that is not shown either");
    assert_eq!(trust(&analysis).grade, Grade::Care, "the intervals are wide");
}

#[test]
fn an_undecided_comparison_is_never_called_no_difference_beside_a_large_ratio() {
    let text = flat(&sliced(&SLICED, NOISY));
    assert!(text.contains("requests per second at 1000 connections is undecided: ratio"), "{text}");
    assert!(!text.contains("No difference at 1000 connections in requests per second"), "{text}");
}

#[test]
fn what_is_undecided_comes_with_what_it_would_take() {
    let close = Fixture { servers: &["loop+epoll-lt", "loop+epoll-et", "loop+poll"], ..SLICED };
    let mut run = sliced(&close, Slicing { rate_noise: 0.06, ..QUIET });
    let text = flat(&run);
    assert!(text.contains(" more generation") && text.contains(" would show a difference of "), "{text}");
    assert!(text.contains("`pitot run architectures --repetitions "), "{text}");
    assert!(text.contains("`pitot run architectures --until-decided`"), "{text}");
    run.info.command_line = "pitot run --server ./a --server ./b".into();
    let text = flat(&run);
    assert!(
        text.contains("the command of this run with `--repetitions ")
            && !text.contains("`pitot run architectures"),
        "{text}"
    );
    let quiet = flat(&sliced(&SLICED, QUIET));
    assert!(!quiet.contains("would show a difference"), "all is decided: {quiet}");
}

#[test]
fn too_few_generations_are_told_with_the_number_that_it_takes() {
    let text = flat(&sliced(&Fixture { repetitions: 3, ..SLICED }, QUIET));
    assert!(text.contains("3 generations are too few for a 95% interval, which needs 6"), "{text}");
    assert!(text.contains("(too few to tell: 3 generations, 8 needed)"), "{text}");
    assert!(
        text.contains("8 generations, about") && text.contains("`pitot run architectures --repetitions 8`"),
        "{text}"
    );
}

#[test]
fn the_order_of_event_loops_and_of_processes_and_threads_is_stated_where_every_pair_is_declared() {
    let told = |run: &Run| {
        let analysis = Analysis::of(run);
        let all = [answer(&analysis).details, findings(&analysis)].concat();
        all.into_iter().filter(|s| s.starts_with("Every event loop")).collect::<Vec<_>>()
    };
    let quiet = told(&sliced(&SLICED, QUIET));
    assert_eq!(quiet.len(), 2, "{quiet:?}");
    assert!(
        quiet[0].contains("handled more requests per second than every server with a process or thread"),
        "{quiet:?}"
    );
    assert!(quiet[1].contains("used less CPU time per request"), "{quiet:?}");
    let noisy = told(&sliced(&SLICED, NOISY));
    assert_eq!(noisy.len(), 1, "throughput is not declared: {noisy:?}");
    assert!(noisy[0].contains("CPU time"), "{noisy:?}");
}

#[test]
fn cells_measured_in_fresh_runs_are_named_with_the_reason() {
    let mut run = sliced(&SLICED, QUIET);
    for cell in run.cells.iter_mut().filter(|c| c.label().starts_with("fork")) {
        cell.measure = Measure::Fresh;
        cell.fresh_reason = "its load cannot be held".into();
        cell.repetitions.iter_mut().for_each(|r| r.slices.clear());
    }
    let text = flat(&run);
    assert!(
        text.contains(
            "fork+blocking at 10 connections and fork+blocking at 1000 connections were measured in fresh runs, not in slices: \
             its load cannot be held."
        ),
        "{text}"
    );
    assert!(text.contains("6 cells × 12 generations of 8 slices, 2 cells × 12 repetitions"), "{text}");
}

#[test]
fn carry_over_is_told_if_it_matters_and_not_otherwise() {
    let carried = flat(&sliced(&SLICED, Slicing { after_first: 0.7, ..QUIET }));
    assert!(carried.contains("Slices carry over: after a slice of thread+blocking, 10"), "{carried}");
    assert!(!flat(&sliced(&SLICED, QUIET)).contains("carry over"));
    assert!(!flat(&sliced(&SLICED, NOISY)).contains("carry over"));
}

#[test]
fn every_slice_can_be_had_as_csv() {
    let run = sliced(&SLICED, QUIET);
    let csv = render(&run, Format::CsvSlices);
    let mut lines = csv.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert_eq!(head[..4], ["server", "load.connections", "control", "generation"]);
    let slices = run.cells.iter().chain(&run.controls).flat_map(|c| &c.repetitions).map(|r| r.slices.len());
    assert_eq!(lines.clone().count(), slices.sum::<usize>());
    assert!(
        lines.clone().any(|line| line.starts_with("thread+blocking,10,1,12,4,")),
        "the control, its last round"
    );
    assert!(lines.all(|line| line.contains("\"thread+blocking, 10\"")
        || line.contains(", 10")
        || line.contains(", 1000")));
}

#[test]
fn a_comparison_of_runs_says_which_cannot_be_trusted_and_speaks_of_generations() {
    let (sound, apart) = (sliced(&SLICED, QUIET), sliced(&SLICED, Slicing { twin: 1.2, ..QUIET }));
    let told = |b: &Run| render_comparison(&compare(&sound, b, &[]), &[], Format::Markdown);
    assert!(
        told(&apart).contains("The second run cannot be trusted. The control failed"),
        "{}",
        told(&apart)
    );
    assert!(!told(&sliced(&SLICED, QUIET)).contains("cannot be trusted"));
    let few = told(&sliced(&Fixture { repetitions: 2, ..SLICED }, QUIET));
    assert!(few.contains("too few generations ("), "{few}");
    assert!(few.contains("12 generations of 8 slices") && few.contains("2 generations of 8 slices"), "{few}");
}

#[test]
fn an_interrupted_run_that_was_to_go_on_until_decided_names_what_it_has() {
    let mut run = sliced(&Fixture { repetitions: 5, ..SLICED }, QUIET);
    run.plan.generations = Some(10);
    run.info.state = RunState::Interrupted;
    assert!(flat(&run).contains("The run is incomplete: it has 5 of 10 generations."), "{}", flat(&run));
    run.plan.until_decided_s = Some(600.0);
    let text = flat(&run);
    assert!(text.contains("The run is incomplete: it has 5 generations so far."), "{text}");
    assert!(
        text.contains("8 cells × 5 generations of 8 slices") && !text.contains("are the fewest"),
        "{text}"
    );
}

#[test]
fn the_chart_has_a_dot_for_each_generation_and_a_row_for_the_control() {
    let page = render(&sliced(&SLICED, QUIET), Format::Html);
    let section = page.split("id=\"generations\"").nth(1).unwrap().split("</section>").next().unwrap();
    assert!(section.contains("control (thread+blocking)"));
    // Three servers and the control, twelve generations each, two loads, two metrics, drawn for wide pages and phones.
    assert_eq!(section.matches("class=\"speck").count(), 4 * 12 * 2 * 2 * 2);
    let wide = render(&sliced(&SLICED, NOISY), Format::Html);
    assert!(wide.contains("id=\"generations\"") && !wide.contains("NaN"));
}
