//! The pages of the book that show measured figures (`bench/pages.py` makes them) are what `pitot report` makes of the run files
//! beside them: no figure was typed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use pitot_record::Run;

use crate::support::{PITOT, text};

fn docs() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")).unwrap()
}

/// The files of a folder whose names end so, by name.
fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|is| is == end)).collect();
    files.sort();
    files
}

/// The report of these runs as a page, and its pictures by name.
fn report(runs: &[PathBuf], name: &str) -> (String, BTreeMap<String, String>) {
    let place = tempfile::tempdir().unwrap();
    let page = place.path().join(format!("{name}.md"));
    let mut command = Command::new(PITOT);
    command.arg("report").args(runs).args(["--format", "md", "-o"]).arg(&page);
    let output = command.arg("--pictures").arg(place.path().join(name)).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    (fs::read_to_string(&page).unwrap(), pictures(&place.path().join(name)))
}

fn pictures(folder: &Path) -> BTreeMap<String, String> {
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    files(folder, "svg").iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn every_answer_is_what_its_run_says_and_has_the_command_of_the_run() {
    let answers = docs().join("answers");
    let runs = files(&answers, "pitot");
    assert_eq!(runs.len(), 10);
    for run in runs {
        let name = run.file_stem().unwrap().to_string_lossy().into_owned();
        let (report, drawn) = report(std::slice::from_ref(&run), &name);
        let page = fs::read_to_string(answers.join(format!("{name}.md"))).unwrap();
        // Without the title and the question of the whole suite.
        let (_, body) = report.split_once("\nmeasured ").unwrap();
        let head = page.strip_suffix(body);
        let head = head.unwrap_or_else(|| panic!("{name} differs from its run: bench/pages.py again"));
        assert!(
            pictures(&answers.join(&name)) == drawn,
            "the pictures of {name} differ: bench/pages.py again"
        );
        let ran = Run::open(&run).unwrap().info.command_line;
        assert!(head.contains(&format!("```sh\n{ran}\n```")), "{head}\nwas run by {ran}");
    }
}

#[test]
fn the_page_on_the_experiments_is_what_their_runs_say() {
    let docs = docs();
    let runs = files(&docs.join("experiments"), "pitot");
    assert_eq!(runs.len(), 13);
    let (report, drawn) = report(&runs, "experiments");
    let page = fs::read_to_string(docs.join("experiments.md")).unwrap();
    assert!(page == report, "docs/experiments.md differs from its runs: bench/pages.py again");
    assert!(pictures(&docs.join("experiments")) == drawn, "the pictures differ: bench/pages.py again");
}
