//! Completions and manual pages, as shells and man(1) read them, and the version.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use pitot_needs::needs;
use serde_json::{Map, Value};

use crate::support::{PITOT, stderr, stdout, text};

fn run(arguments: &[&str]) -> Output {
    Command::new(PITOT).args(arguments).output().unwrap()
}

/// Has a shell read its completions and carry out a script, whose `$1` is their file. Nothing of the user's is read.
fn in_shell(shell: &str, options: &[&str], script: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("_pitot");
    let completions = run(&["completions", shell]);
    assert!(completions.status.success(), "{}", text(&completions));
    fs::write(&file, completions.stdout).unwrap();
    let mut command = Command::new(shell);
    command.args(options).args(["-c", script]);
    // The name of the script, which fish does not take.
    command.args((shell != "fish").then_some(shell)).arg(&file).env("HOME", folder.path());
    let output = command.output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output));
    stdout(&output).to_owned()
}

#[needs("bash")]
#[test]
fn bash_completes_commands_options_and_values() {
    let script = r#"
        source "$1"
        complete -p pitot >/dev/null
        try() {
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
            _pitot pitot "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
            echo "${COMPREPLY[@]}"
        }
        try pitot lo
        try pitot host un
        try pitot load --laten
        try pitot completions ''
        try pitot serve-c
        try pitot load --work"#;
    let found = in_shell("bash", &["--norc"], script);
    let found: Vec<&str> = found.lines().collect();
    assert_eq!(
        found,
        ["load", "undo", "--latency", "-h --help bash zsh fish", "", ""],
        "and nothing that is hidden"
    );
}

#[needs("zsh")]
#[test]
fn zsh_takes_the_completions() {
    let script = r#"fpath=("${1:h}" $fpath); autoload -U compinit && compinit -u -D && print ${_comps[pitot]}
        autoload +X _pitot && _arguments() { print -l -- "$@" } && _pitot"#;
    let found = in_shell("zsh", &["--no-rcs"], script);
    assert!(found.starts_with("_pitot\n") && found.contains(":: :_pitot_commands\n"), "{found}");
}

#[needs("fish")]
#[test]
fn fish_completes_commands_and_options() {
    let script = r#"source $argv[1]; complete -C "pitot lo"; complete -C "pitot load --laten"; complete -C "pitot serve-c"; complete -C "pitot load --work""#;
    let found = in_shell("fish", &["--no-config"], script);
    let words: Vec<_> = found.lines().map(|line| line.split('\t').next().unwrap()).collect();
    assert_eq!(words, ["load", "--latency"]);
}

/// The commands that people are shown, with those below them.
fn commands() -> BTreeSet<String> {
    let options = run(&["list", "options", "--format", "json"]);
    let rows: Vec<Map<String, Value>> = serde_json::from_slice(&options.stdout).unwrap();
    rows.iter().map(|row| row["command"].as_str().unwrap().to_owned()).collect()
}

fn write_all(folder: &Path) {
    let output = run(&["man", "--all", folder.to_str().unwrap()]);
    assert!(output.status.success() && output.stdout.is_empty(), "{}", text(&output));
}

#[test]
fn every_command_has_a_page_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("new/man1");
    write_all(&pages);
    for command in commands().iter().chain([&String::new()]) {
        let name = format!("pitot {command}");
        let file = pages.join(format!("{}.1", name.trim_end().replace(' ', "-")));
        let page = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let words: Vec<&str> = ["man"].into_iter().chain(command.split_whitespace()).collect();
        assert_eq!(stdout(&run(&words)), page, "{command}: in one word or several");
        assert_eq!(stdout(&run(&["man", command])), page, "{command}: in one word or several");
        let usage = Command::new(PITOT).args(&words[1..]).arg("--help").output().unwrap();
        let usage = stdout(&usage).lines().find_map(|line| line.strip_prefix("Usage: ")).unwrap();
        assert!(page.replace('\\', "").replace("fB", "").replace("fR", "").contains(usage), "{page}");
    }
    assert!(!pages.join("pitot-serve-connection.1").exists(), "it is hidden");
}

#[needs("groff")]
#[test]
fn groff_has_nothing_to_say_about_the_pages() {
    let folder = tempfile::tempdir().unwrap();
    write_all(folder.path());
    for entry in fs::read_dir(folder.path()).unwrap() {
        let output = Command::new("groff")
            .args(["-man", "-ww", "-z", "-Tutf8", "-Kutf8", "-Wbreak"])
            .arg(entry.unwrap().path())
            .output()
            .unwrap();
        assert_eq!(text(&output), "");
    }
}

#[test]
fn wrong_words_are_named_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let below_a_file = file.join("pages");
    for (words, what, fix) in [
        (&["man", "laod"][..], "`pitot` has no command `laod` (did you mean `load`?)", "`pitot --help`"),
        (&["man", "host apply x"], "`pitot host apply` has no command `x`", "`pitot host apply --help`"),
        (&["man", "guest"], "`pitot` has no command `guest`", "`pitot --help`"),
        (&["man", "--all", below_a_file.to_str().unwrap()], "cannot be written", "check the directory"),
        (&["man", "load", "--all", "x"], "cannot be used with", "--help"),
        (&["completions", "tcsh"], "invalid value 'tcsh'", "bash, zsh, fish"),
        (&["completions"], "<SHELL>", "--help"),
    ] {
        let output = run(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(output.stdout.is_empty(), "{words:?}");
        assert!([what, fix].iter().all(|part| stderr(&output).contains(part)), "{}", stderr(&output));
    }
}

#[test]
fn the_version_has_the_kind_of_build() {
    let output = run(&["--version"]);
    let version = stdout(&output).trim_end();
    let (number, build) = version.strip_prefix("pitot ").unwrap().split_once(' ').unwrap();
    assert_eq!(number, env!("CARGO_PKG_VERSION"));
    assert!(
        build.starts_with('(') && build.contains(&format!("full, {}-linux-", std::env::consts::ARCH)),
        "{build}"
    );
    assert_eq!(stdout(&run(&["-V"])).trim_end(), version);
}
