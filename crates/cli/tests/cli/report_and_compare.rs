//! `pitot report` and `pitot compare` as a user types them: what they print, what they write, how they exit.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::{PITOT, stderr, stdout};

#[path = "../../../report/tests/report/support/mod.rs"]
pub(crate) mod support;

use support::{Fixture, SMALL, written};

fn pitot(arguments: &[&str]) -> Output {
    Command::new(PITOT).args(arguments).output().unwrap()
}

fn run_file(directory: &Path, name: &str, fixture: &Fixture) -> PathBuf {
    let path = directory.join(name);
    fixture.run(&path);
    path
}

#[test]
fn a_report_prints_a_summary_and_writes_its_page_next_to_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = run_file(directory.path(), "a.pitot", &SMALL);
    let output = pitot(&["report", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let page = directory.path().join("a.html");
    assert!(stdout(&output).contains("Findings"));
    assert!(stdout(&output).trim_end().ends_with(page.to_str().unwrap()), "{}", stdout(&output));
    assert!(std::fs::read_to_string(page).unwrap().starts_with("<!doctype html>"));
}

#[test]
fn several_runs_are_shown_as_the_history_of_their_cells() {
    let directory = tempfile::tempdir().unwrap();
    let one = run_file(directory.path(), "a.pitot", &SMALL);
    let other = run_file(directory.path(), "b.pitot", &Fixture { slowdown: 2.0, seed: 8, ..SMALL });
    let (one, other) = (one.to_str().unwrap(), other.to_str().unwrap());
    let output = pitot(&["report", one, other, "--format", "md"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let rows = |name: &str| -> Vec<String> {
        let line = format!("| {name}");
        stdout(&output).lines().filter(|row| row.starts_with(&line)).map(str::to_owned).collect()
    };
    let rows = rows("loop+epoll-et, 1000: ");
    assert_eq!(rows.len(), 2, "{}", stdout(&output));
    assert!(rows[0].contains("| a.pitot (") && rows[1].contains("| b.pitot ("), "{rows:?}");
    let output = pitot(&["report", one, other]);
    let page = directory.path().join("b-history.html");
    assert!(stdout(&output).trim_end().ends_with(page.to_str().unwrap()), "{}", stdout(&output));
    assert!(std::fs::read_to_string(page).unwrap().contains("<h1>History of architectures</h1>"));
    assert!(stdout(&pitot(&["report", one, other, "--format", "json"])).contains("pitot-history/1"));
}

#[test]
fn text_is_as_wide_as_columns_says_and_coloured_only_where_that_is_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let file = run_file(directory.path(), "a.pitot", &SMALL);
    let shown = |columns: Option<&str>, more: &[&str]| {
        let mut command = Command::new(PITOT);
        command.args(["report", "--format", "terminal"]).arg(&file).args(more);
        command.env_remove("COLUMNS").env_remove("NO_COLOR");
        columns.map(|columns| command.env("COLUMNS", columns));
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output).to_owned()
    };
    let widest = |shown: &str| shown.lines().map(|line| line.chars().count()).max().unwrap();
    let piped = shown(None, &[]);
    assert!((70..=80).contains(&widest(&piped)) && !piped.contains('\x1b'), "{piped}");
    let wide = shown(Some("110"), &[]);
    assert!((81..=110).contains(&widest(&wide)), "{wide}");
    let coloured = shown(None, &["--color", "always"]);
    assert!(coloured.contains("\x1b[1mloop+epoll-et handled the most"), "{coloured}");
    let plain = ["\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[0m"];
    assert_eq!(plain.iter().fold(coloured, |text, code| text.replace(code, "")), piped);
}

#[test]
fn a_format_goes_to_the_standard_output_or_to_the_file_that_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = run_file(directory.path(), "a.pitot", &SMALL);
    let output = pitot(&["report", file.to_str().unwrap(), "--format", "json"]);
    assert!(stdout(&output).contains("\"schema\": \"pitot-report/1\""));
    for cell in &written(&SMALL).cells {
        assert!(stdout(&output).contains(&cell.load_command), "{}", cell.label());
    }
    let markdown = directory.path().join("out.md");
    let output = pitot(&["report", file.to_str().unwrap(), "-o", markdown.to_str().unwrap()]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
    assert!(std::fs::read_to_string(markdown).unwrap().starts_with("# "));
    let output = pitot(&["report", file.to_str().unwrap(), "--format", "html", "-o", "-"]);
    assert!(stdout(&output).starts_with("<!doctype html>"));
    assert!(!directory.path().join("a.html").exists());
}

#[test]
fn what_is_no_run_file_is_wrong_use_with_a_fix() {
    let directory = tempfile::tempdir().unwrap();
    let other = directory.path().join("other.pitot");
    std::fs::write(&other, "not a database, but long enough to be taken for one by a hasty reader").unwrap();
    for path in [other.as_path(), Path::new("/nowhere/at/all.pitot")] {
        let output = pitot(&["report", path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert_eq!(stderr(&output).lines().count(), 2, "{}", stderr(&output));
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_gate_that_is_met_exits_with_1_one_that_passes_with_0_and_one_that_is_undecided_with_3() {
    let directory = tempfile::tempdir().unwrap();
    let a = run_file(directory.path(), "a.pitot", &SMALL);
    let b = run_file(directory.path(), "b.pitot", &Fixture { slowdown: 1.3, seed: 8, ..SMALL });
    let (a, b) = (a.to_str().unwrap(), b.to_str().unwrap());
    assert_eq!(pitot(&["compare", a, b]).status.code(), Some(0));
    assert_eq!(pitot(&["compare", a, a, "--fail-if", "throughput < -5%"]).status.code(), Some(0));
    let undecided = ["compare", a, a, "--fail-if", "throughput < 0%"];
    assert_eq!(pitot(&undecided).status.code(), Some(3), "an interval holds the limit");
    // The whole of the second run is slower, its reference with it: that is no change of a cell.
    let moved = pitot(&["compare", a, b, "--fail-if", "throughput < -5%"]);
    assert_eq!(moved.status.code(), Some(3), "{}", stdout(&moved));
    // The servers of one run, against its baseline.
    let met = pitot(&["compare", a, "--fail-if", "throughput > +5%", "--fail-if", "p99 < 0%"]);
    assert_eq!(met.status.code(), Some(1));
    assert!(stderr(&met).contains("gate 'throughput > +5%': met: thread+blocking, 10"), "{}", stderr(&met));
    assert!(stdout(&met).contains("better"), "{}", stdout(&met));
    assert_eq!(pitot(&["compare", a, "--fail-if", "throughput < -5%"]).status.code(), Some(0));
    let wrong = pitot(&["compare", a, b, "--fail-if", "speed < -5%"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("use one of: throughput"), "{}", stderr(&wrong));
}

#[test]
fn a_job_of_github_actions_gets_annotations_and_a_summary() {
    let directory = tempfile::tempdir().unwrap();
    let a = run_file(directory.path(), "a.pitot", &SMALL);
    let b = run_file(directory.path(), "b.pitot", &Fixture { slowdown: 1.3, seed: 8, ..SMALL });
    let summary = directory.path().join("summary.md");
    std::fs::write(&summary, "An earlier step.\n").unwrap();
    let job = |arguments: &[&str]| {
        let mut command = Command::new(PITOT);
        command.args(arguments).env("GITHUB_STEP_SUMMARY", &summary).output().unwrap()
    };
    let (a, b) = (a.to_str().unwrap(), b.to_str().unwrap());
    let output = job(&["compare", a, "--format", "github", "--fail-if", "throughput > +5%"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).starts_with("::error title=gate throughput"), "{}", stdout(&output));
    let added = std::fs::read_to_string(&summary).unwrap();
    assert!(added.starts_with("An earlier step.\n# Which architecture"), "{added}");
    assert_eq!(job(&["report", a, "--format", "github"]).status.code(), Some(0));
    assert!(std::fs::read_to_string(&summary).unwrap().contains("## Answer"));
    let report = directory.path().join("report.xml");
    let output = pitot(&["compare", a, b, "--format", "junit", "-o", report.to_str().unwrap()]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
    assert!(std::fs::read_to_string(report).unwrap().contains("<testsuites name=\"pitot compare\""));
}

#[test]
fn a_page_of_a_comparison_is_a_file_as_that_of_a_report_is() {
    let directory = tempfile::tempdir().unwrap();
    let a = run_file(directory.path(), "a.pitot", &SMALL);
    let b = run_file(directory.path(), "b.pitot", &SMALL);
    let (a, b) = (a.to_str().unwrap(), b.to_str().unwrap());
    let output = pitot(&["compare", a, b, "--format", "html"]);
    let page = directory.path().join("a-vs-b.html");
    assert_eq!(stdout(&output).trim_end(), page.to_str().unwrap());
    assert!(std::fs::read_to_string(page).unwrap().starts_with("<!doctype html>"));
    let output = pitot(&["compare", a, b, "--format", "html", "-o", "-"]);
    assert!(stdout(&output).starts_with("<!doctype html>"));
}

#[test]
fn a_report_keeps_the_host_name_and_the_kernel_command_line_to_itself() {
    let directory = tempfile::tempdir().unwrap();
    let file = run_file(directory.path(), "a.pitot", &SMALL);
    let file = file.to_str().unwrap();
    for format in ["html", "json", "md"] {
        let output = pitot(&["report", file, "--format", format, "-o", "-"]);
        let shown = stdout(&output);
        assert!(!shown.contains("alice-laptop") && !shown.contains("hunter2"), "{format}");
    }
    let full = pitot(&["report", file, "--format", "html", "-o", "-", "--full"]);
    assert!(stdout(&full).contains("alice-laptop") && stdout(&full).contains("hunter2"));
}

#[test]
fn host_diff_exits_as_diff_does() {
    let directory = tempfile::tempdir().unwrap();
    let a = run_file(directory.path(), "a.pitot", &SMALL);
    let a = a.to_str().unwrap();
    assert_eq!(pitot(&["host", "diff", a, a]).status.code(), Some(0));
    assert_eq!(pitot(&["host", "diff", a]).status.code(), Some(1), "the made-up machine is not this one");
    assert_eq!(pitot(&["host", "diff", a, "/no/such/file"]).status.code(), Some(2));
}

#[test]
fn metrics_are_listed_with_unit_direction_and_needs() {
    let output = pitot(&["list", "metrics", "--format", "json"]);
    let metrics: serde_json::Value = serde_json::from_str(stdout(&output)).unwrap();
    let p99 = metrics.as_array().unwrap().iter().find(|m| m["name"] == "latency-p99").unwrap();
    assert_eq!((&p99["title"], &p99["unit"], &p99["better"]), (&"p99".into(), &"ns".into(), &"lower".into()));
    assert_eq!(p99["doc"], "Needs response times.");
}

/// A run of two servers over so many connections, and its file.
fn measured(directory: &Path, name: &str, baseline: &str, connections: u32) -> PathBuf {
    let plan = directory.join("plan.toml");
    let keys = format!(
        "generations = 6\nslices = 2\nslice = \"20ms\"\nwarmup = \"10ms\"\n{baseline}\n[server]\nprotocol = \"http\"\n\
         [load]\nconnections = {connections}\n[factors]\nserver = [\"loop+epoll-et\", \"thread\"]\n"
    );
    std::fs::write(&plan, keys).unwrap();
    let file = directory.join(name);
    let output = pitot(&["run", plan.to_str().unwrap(), "-o", file.to_str().unwrap()]);
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    file
}

/// Each generation's figures of throughput of the cell of that server.
fn rates(file: &Path, server: &str) -> Vec<f64> {
    let run = pitot_record::Run::open(file).unwrap();
    let cell = run.cells.iter().find(|cell| cell.label() == server).unwrap();
    let metric = pitot_record::metric::find("throughput").unwrap();
    cell.figures(metric).into_iter().map(|(_, value)| value).collect()
}

#[test]
fn two_real_runs_are_compared_by_a_reference_and_claim_nothing_without_one() {
    let directory = tempfile::tempdir().unwrap();
    let baseline = "baseline = { server = \"loop+epoll-et\" }";
    // What differs between the runs meets both servers.
    let a = measured(directory.path(), "a.pitot", baseline, 8);
    let b = measured(directory.path(), "b.pitot", baseline, 1);
    let bare = measured(directory.path(), "bare.pitot", "", 8);
    let compared = |a: &Path, b: &Path| -> serde_json::Value {
        let output = pitot(&[
            "compare",
            a.to_str().unwrap(),
            b.to_str().unwrap(),
            "--format",
            "json",
            "--fail-if",
            "throughput < -90%",
        ]);
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(
            output.status.code(),
            Some(match json["gates"][0]["outcome"].as_str().unwrap() {
                "passed" => 0,
                "met" => 1,
                _ => 3,
            })
        );
        json
    };
    let with = compared(&a, &b);
    let of = |server: &str| {
        let cells = with["cells"].as_array().unwrap();
        cells.iter().find(|cell| cell["cell"] == server).unwrap()
    };
    assert_eq!(
        (&of("loop+epoll-et")["is_reference"], &of("thread")["is_reference"]),
        (&true.into(), &false.into())
    );
    let figure = &of("thread")["figures"]["throughput"];
    // Both have a twin of the baseline, so that each run is one observation.
    assert_eq!(figure["between_runs"]["observations"], 2);
    // The ratio is that of the ratios to the reference, generation by generation.
    let ratios = |file: &Path| -> Vec<f64> {
        let of_reference = rates(file, "loop+epoll-et");
        rates(file, "thread").iter().zip(of_reference).map(|(rate, reference)| rate / reference).collect()
    };
    let (of_a, of_b) = (ratios(&a), ratios(&b));
    assert_eq!((of_a.len(), of_b.len()), (6, 6));
    let quotients = || of_b.iter().flat_map(|b| of_a.iter().map(move |a| b / a));
    let ratio = figure["comparison"]["ratio"].as_f64().unwrap();
    let (least, most) = (quotients().fold(f64::MAX, f64::min), quotients().fold(0.0, f64::max));
    // Generations are compared round by round, which moves a ratio a little.
    assert!(ratio > least * 0.9 && ratio < most * 1.1, "{ratio} beside {least} to {most}");
    // Its interval holds what equal servers may lie apart besides.
    let interval = |end: &str| figure["comparison"]["interval"][end].as_f64().unwrap();
    let spread = figure["spread_between_runs"].as_f64().unwrap();
    assert!(
        interval("high") >= ratio * spread * 0.999 && interval("low") <= ratio / spread * 1.001,
        "{figure}"
    );

    let without = compared(&a, &bare);
    for cell in without["cells"].as_array().unwrap() {
        for (metric, figure) in cell["figures"].as_object().unwrap() {
            let comparison = &figure["comparison"];
            assert!(comparison.is_null() || comparison["interval"].is_null(), "{metric}: {comparison}");
            assert!(figure["between_runs"].is_null(), "{metric}: {figure}");
        }
    }
    assert!(
        without["answer"].as_str().unwrap().contains("without a shared reference"),
        "{}",
        without["answer"]
    );
    assert_eq!(without["gates"][0]["outcome"], "undecided");
}
