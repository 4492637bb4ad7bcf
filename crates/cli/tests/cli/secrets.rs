//! Secrets of plans and command lines: a run file, the file of a soak and all reports of them can be mailed, and what is left of
//! either can still be run.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use pitot_record::Soak;
use pitot_record::soak::State;
use pitot_record::{Run, RunState};

use crate::support::{PITOT, Running, text, until};

/// In a URL, twice, and in headers.
const SECRETS: [&str; 4] = ["hunter22", "tok-9871", "k3y-of-api", "c00kie-jar"];
const URL: &str = "http://me:hunter22@{address}/?token=tok-9871";

/// Whatever its user's umask lets others do.
fn pitot(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "umask 0; exec \"$@\"", "sh", PITOT]).args(arguments);
    command.current_dir(dir).env("TMPDIR", dir).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn output(dir: &Path, arguments: &[&str]) -> Output {
    pitot(dir, arguments).output().unwrap()
}

fn has_secret(bytes: &[u8]) -> bool {
    SECRETS.iter().any(|secret| bytes.windows(secret.len()).any(|part| part == secret.as_bytes()))
}

/// No file of the folder has a secret but these two; what belongs to `a.pitot` can be read by its owner alone.
fn only_beside(dir: &Path, expected: &[&str]) {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        // Files of SQLite beside the run file come and go while the guardian of a killed lab ends.
        let Ok(about) = entry.metadata() else { continue };
        if name.starts_with("a.pitot") {
            assert_eq!(about.permissions().mode() & 0o777, 0o600, "{name}");
        }
        if about.is_file() && std::fs::read(entry.path()).is_ok_and(|bytes| has_secret(&bytes)) {
            found.push(name);
        }
    }
    found.sort();
    assert_eq!(found, expected);
}

/// What `pitot report` makes of a file in all formats that it knows for it.
fn reports_have_none(dir: &Path, formats: &[&str]) {
    for format in formats {
        let report = output(dir, &["report", "a.pitot", "--format", format, "-o", "-"]);
        assert!(report.status.success(), "{format}: {}", text(&report));
        assert!(!has_secret(&report.stdout) && !has_secret(&report.stderr), "{format}: {}", text(&report));
        if ["html", "json"].contains(format) {
            assert!(text(&report).contains("***"), "it shows that something is masked: {}", text(&report));
        }
    }
}

/// It cannot be resumed without its secrets, which are named.
fn is_refused_without_secrets(dir: &Path, command: &str) {
    std::fs::rename(dir.join("a.pitot.secrets"), dir.join("kept")).unwrap();
    let refused = output(dir, &[command, "--resume", "a.pitot"]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
    let said = text(&refused);
    assert!(
        said.contains("does not contain the secrets of") && said.contains("a.pitot.secrets does not exist"),
        "{said}"
    );
    assert!(!has_secret(said.as_bytes()), "{said}");
    std::fs::rename(dir.join("kept"), dir.join("a.pitot.secrets")).unwrap();
}

#[test]
fn a_run_with_secrets_is_killed_mailed_and_resumed() {
    let bed = tempfile::tempdir().unwrap();
    let dir = bed.path();
    let plan = format!(
        "repetitions = 4\nduration = \"300ms\"\nwarmup = \"50ms\"\n[server]\nprotocol = \"http\"\n[load]\nconnections = 2\n\
         url = \"{URL}\"\nheader = [\"X-Api-Key: k3y-of-api\", \"Cookie: a=c00kie-jar\"]\n\
         [factors]\nserver = [\"loop+epoll-et\", \"thread\"]\n"
    );
    std::fs::write(dir.join("plan.toml"), &plan).unwrap();
    let mut lab = Running::start(&mut pitot(dir, &["run", "plan.toml", "-o", "a.pitot"]));
    let mut lines = BufReader::new(lab.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.starts_with("[2/8]")));
    only_beside(dir, &["a.pitot.secrets", "plan.toml"]);
    lab.kill();
    only_beside(dir, &["a.pitot.secrets", "plan.toml"]);
    assert_eq!(Run::open(&dir.join("a.pitot")).unwrap().info.state, RunState::Running);
    is_refused_without_secrets(dir, "run");
    let resumed = output(dir, &["run", "--resume", "a.pitot"]);
    assert!(resumed.status.success() && !has_secret(text(&resumed).as_bytes()), "{}", text(&resumed));
    let run = Run::open(&dir.join("a.pitot")).unwrap();
    assert_eq!(run.info.state, RunState::Complete);
    for repetition in run.cells.iter().flat_map(|cell| &cell.repetitions) {
        // With the name and password that the file does not have; without them the URL would not even be one.
        assert!(repetition.load.as_ref().unwrap().requests.ok > 0, "{}", repetition.output_tail);
    }
    // A run that is complete is not resumed.
    only_beside(dir, &["plan.toml"]);
    reports_have_none(dir, &["terminal", "html", "md", "csv", "csv-slices", "json", "github", "junit"]);
}

#[test]
fn a_soak_with_secrets_is_killed_mailed_and_resumed() {
    let bed = tempfile::tempdir().unwrap();
    let dir = bed.path();
    let load = "-c 2 -R 20 -H 'X-Api-Key: k3y-of-api' -H 'Cookie: a=c00kie-jar'";
    let arguments = ["soak", "--server", "loop+epoll-et", "--url", URL, "-R", "20", "--load", load];
    let arguments = [&arguments[..], &["--for", "4s", "--interval", "1s", "-o", "a.pitot"]].concat();
    let mut lab = Running::start(&mut pitot(dir, &arguments));
    until("intervals are saved", || {
        Soak::open(&dir.join("a.pitot")).is_ok_and(|soak| soak.intervals.len() >= 2)
    });
    lab.kill();
    only_beside(dir, &["a.pitot.secrets"]);
    is_refused_without_secrets(dir, "soak");
    let resumed = output(dir, &["soak", "--resume", "a.pitot"]);
    assert!(resumed.status.success() && !has_secret(text(&resumed).as_bytes()), "{}", text(&resumed));
    let soak = Soak::open(&dir.join("a.pitot")).unwrap();
    assert_eq!(soak.state, State::Complete);
    assert!(
        soak.loads.iter().all(|load| load.totals.completed > 0 && load.command.contains("***")),
        "{:?}",
        soak.loads
    );
    only_beside(dir, &[]);
    reports_have_none(dir, &["terminal", "html", "json"]);
}

#[test]
fn a_file_that_others_can_write_is_resumed_only_if_they_are_trusted() {
    let bed = tempfile::tempdir().unwrap();
    let dir = bed.path();
    let plan = "repetitions = 1\nduration = \"100ms\"\nwarmup = \"0s\"\n[server]\nprotocol = \"http\"\n\
                [factors]\nserver = [\"thread\"]\n";
    std::fs::write(dir.join("plan.toml"), plan).unwrap();
    let ran = output(dir, &["run", "plan.toml", "-o", "a.pitot"]);
    assert!(ran.status.success(), "{}", text(&ran));
    std::fs::set_permissions(dir.join("a.pitot"), std::fs::Permissions::from_mode(0o666)).unwrap();
    let resume =
        |command: &str, more: &[&str]| output(dir, &[&[command, "--resume", "a.pitot"], more].concat());
    for command in ["run", "soak"] {
        let refused = resume(command, &[]);
        assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
        assert!(text(&refused).contains("--trust-owner"), "{}", text(&refused));
    }
    let trusted = resume("run", &["--trust-owner"]);
    assert!(trusted.status.success(), "{}", text(&trusted));
    only_beside(dir, &[]);
}
