//! A run that asks more than one thing: each part has an answer of its own.

use pitot_plan::FactorLevel;
use pitot_record::Run;
use pitot_report::{Format, parts};
use serde_json::Value;

use crate::forms::render;
use crate::support::{Fixture, SMALL, written};

/// Servers that were asked for a small file, and for a large one which takes fifty times as long.
fn two_files() -> Run {
    let mut run = written(&SMALL);
    let mut large = written(&Fixture { slowdown: 50.0, seed: 11, ..SMALL });
    for cell in &mut large.cells {
        cell.id += 1000;
    }
    let asked = |run: &mut Run, path: &str| {
        let url = format!("http://{{address}}/{path}");
        run.cells.iter_mut().for_each(|cell| cell.factors.push(FactorLevel::new("load.url", &url)));
    };
    asked(&mut run, "1k");
    asked(&mut large, "1m");
    run.cells.extend(large.cells);
    run.plan.published.clear();
    run
}

fn json(run: &Run) -> Value {
    serde_json::from_str(&render(run, Format::Json)).unwrap()
}

#[test]
fn each_part_has_an_answer_about_its_own_cells() {
    let report = json(&two_files());
    let asked: Vec<&str> =
        report["parts"].as_array().unwrap().iter().map(|part| part["asked"].as_str().unwrap()).collect();
    assert_eq!(asked, ["/1k", "/1m"]);
    for part in report["parts"].as_array().unwrap() {
        let answer = part["answer"].as_str().unwrap();
        assert!(answer.starts_with("loop+epoll-et") && !answer.contains("/1"), "{answer}");
    }
    let best = |path: &str| {
        let is_best = |cell: &&Value| {
            cell["standing"] == "best" && cell["factors"]["load.url"] == format!("http://{{address}}/{path}")
        };
        report["cells"].as_array().unwrap().iter().filter(is_best).count()
    };
    assert_eq!((best("1k"), best("1m")), (2, 2), "one at each load of each part");
}

#[test]
fn a_part_says_what_it_would_say_as_a_run_of_its_own() {
    let mut alone = written(&SMALL);
    alone.plan.published.clear();
    let (whole, alone) = (json(&two_files()), json(&alone));
    assert_eq!(whole["parts"][0]["answer"], alone["answer"]);
    assert_eq!(whole["parts"][0]["details"], alone["details"]);
    assert_eq!(whole["parts"][0]["findings"], alone["findings"]);
    assert_eq!(alone["parts"], Value::Array(Vec::new()));
    let ratio = |report: &Value| {
        let cell = report["cells"]
            .as_array()
            .unwrap()
            .iter()
            .find(|cell| cell["factors"]["server"] == "loop+epoll-et");
        cell.unwrap()["figures"]["throughput"]["against_baseline"].clone()
    };
    assert_eq!(ratio(&whole), ratio(&alone));
}

#[test]
fn the_whole_run_makes_the_comparisons_of_its_parts() {
    let run = two_files();
    let csv = render(&run, Format::Csv);
    for part in parts(&run) {
        for line in render(&part.run, Format::Csv).lines() {
            assert!(csv.lines().any(|of_whole| of_whole == line), "{line}");
        }
    }
}

#[test]
fn every_format_names_what_was_asked() {
    let run = two_files();
    let terminal = render(&run, Format::Terminal);
    assert!(
        terminal.contains("\n/1k: loop+epoll-et") && terminal.matches("\n/1m\n").count() == 2,
        "{terminal}"
    );
    assert!(terminal.lines().all(|line| line.chars().count() <= 100), "{terminal}");
    assert_eq!(render(&run, Format::Markdown).matches("### /1m\n").count(), 3);
    let page = render(&run, Format::Html);
    assert!(page.contains("<h3>/1m</h3>") && page.contains("/1m · 1000"));
    let notices = render(&run, Format::Github);
    assert_eq!(notices.lines().filter(|line| line.starts_with("::notice ")).count(), 2, "{notices}");
}

#[test]
fn loads_that_are_compared_with_each_other_do_not_divide_a_run() {
    let mut run = two_files();
    run.plan.baseline =
        Some(pitot_plan::Levels(vec![("load.url".into(), vec!["http://{address}/1k".into()])]));
    assert!(parts(&run).is_empty());
    run.plan.baseline = None;
    run.cells.retain(|cell| cell.factors[0].level == "loop+epoll-et");
    assert!(parts(&run).is_empty(), "nothing but the load varies");
}

/// Two servers under two kernels, of which the baseline names one; one server is ten times as fast as the other, whatever the kernel.
fn two_kernels() -> Run {
    let mut run = written(&SMALL);
    run.plan.published.clear();
    let mut other = written(&Fixture { slowdown: 1.2, seed: 11, ..SMALL });
    other.cells.iter_mut().for_each(|cell| cell.id += 1000);
    let under = |run: &mut Run, kernel: &str| {
        run.cells.iter_mut().for_each(|cell| cell.factors.insert(0, FactorLevel::new("kernel", kernel)));
    };
    under(&mut run, "planted");
    under(&mut other, "plain");
    run.cells.extend(other.cells);
    run.plan.baseline = Some(pitot_plan::Levels(vec![("kernel".into(), vec!["plain".into()])]));
    run
}

#[test]
fn the_levels_of_the_baselines_factor_are_compared_with_all_else_equal() {
    let run = two_kernels();
    let servers: Vec<String> = parts(&run).iter().map(|part| part.title.clone()).collect();
    assert!(servers.len() > 1 && servers.iter().any(|server| server == "loop+epoll-et"), "{servers:?}");
    let report = json(&run);
    for part in report["parts"].as_array().unwrap() {
        let (answer, server) = (part["answer"].as_str().unwrap(), part["asked"].as_str().unwrap());
        assert!(answer.contains("planted"), "{server}: {answer}");
        for other in servers.iter().filter(|other| *other != server) {
            assert!(!answer.contains(other.as_str()), "{server}: {answer}");
        }
    }
    let text = render(&run, Format::Terminal);
    assert!(text.contains("\nloop+epoll-et: planted"), "{text}");
}
