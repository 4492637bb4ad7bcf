//! gVisor as a kernel: a command in its sandbox, a plan beside the kernel of the host, and nothing left of a run that is killed.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use pitot_lab::{Run, VerdictKind, metric};
use pitot_needs::needs;

const PITOT: &str = env!("CARGO_BIN_EXE_pitot");

fn command(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(PITOT);
    command.args(arguments).current_dir(dir).env("TMPDIR", dir);
    command
}

fn pitot(dir: &Path, arguments: &[&str]) -> Output {
    command(dir, arguments).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn plan(duration: &str, repetitions: u32) -> String {
    format!(
        "repetitions = {repetitions}\nwarmup = \"50ms\"\nduration = \"{duration}\"\nbaseline = {{ kernel = \"host\" }}\n\
         [server]\nprotocol = \"http\"\nroot = \"{{dir}}\"\n[load]\nconnections = 4\nurl = \"http://{{address}}/a\"\n\
         [files]\na = {{ size = \"1KiB\" }}\n\
         [factors]\nkernel = [\"host\", \"gvisor\"]\nserver = [\"loop+epoll-et\", \"loop+uring\"]\n"
    )
}

/// Private folders of runs that are still there.
fn left(dir: &Path) -> Vec<String> {
    let names =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("pitot-")).collect()
}

/// The command lines of the processes that have `needle` in theirs.
fn processes(needle: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(needle)).collect()
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[needs("runsc")]
#[test]
fn a_command_runs_in_the_sandbox_and_a_plan_compares_it_with_the_host() {
    let dir = tempfile::tempdir().unwrap();
    assert!(text(&pitot(dir.path(), &["kernel", "list"])).contains("gvisor: gVisor "));
    let script = "read -r line < /proc/version; echo $line; test -e /etc/hostname || exit 7";
    let said = pitot(dir.path(), &["kernel", "run", "gvisor", "--", "sh", "-c", script]);
    assert_eq!(said.status.code(), Some(7), "{}", text(&said));
    assert!(text(&said).contains("gVisor") || text(&said).contains("gvisor"), "{}", text(&said));

    std::fs::write(dir.path().join("plan.toml"), plan("200ms", 1)).unwrap();
    let output = pitot(dir.path(), &["run", "plan.toml", "-o", "run.pitot"]);
    assert!(output.status.success(), "{}", text(&output));
    assert!(text(&output).contains("gvisor, loop+uring: io_uring is not available"), "{}", text(&output));
    let run = Run::open(&dir.path().join("run.pitot")).unwrap();
    assert!(run.skips.iter().any(|skip| skip.factors[1].level == "loop+uring"), "{:?}", run.skips);
    for kernel in ["host", "gvisor"] {
        let is_of = |levels: &[pitot_lab::FactorLevel]| {
            levels[0].level == kernel && levels[1].level == "loop+epoll-et"
        };
        let cell = run.cells.iter().find(|cell| is_of(&cell.factors)).unwrap();
        let repetition = &cell.repetitions[0];
        assert_ne!(repetition.verdict.kind, VerdictKind::Failed, "{kernel}: {}", repetition.verdict.reason);
        assert_eq!(repetition.host, kernel);
        let throughput = metric::find("throughput").unwrap().of(repetition).unwrap();
        assert!(throughput > 0.0, "{kernel}");
    }
    assert!(left(dir.path()).is_empty(), "{:?}", left(dir.path()));
}

#[needs("runsc")]
#[test]
fn nothing_of_the_sandbox_is_left_when_the_run_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let shown = dir.path().to_string_lossy().into_owned();
    let alone =
        plan("60s", 1).replace("[\"host\", \"gvisor\"]", "[\"gvisor\"]").replace("\"host\"", "\"gvisor\"");
    std::fs::write(dir.path().join("plan.toml"), alone).unwrap();
    let mut run = command(dir.path(), &["run", "plan.toml", "-o", "run.pitot"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The run file is made when the kernel has said what it can run.
    until("the run does not begin", || dir.path().join("run.pitot").exists());
    let sandboxes = || processes(&shown).iter().filter(|line| line.contains("runsc-sandbox")).count();
    until("no sandbox was started", || sandboxes() > 0);
    run.kill().unwrap();
    run.wait().unwrap();
    until("processes are left", || processes(&shown).is_empty());
    until("files are left", || left(dir.path()).is_empty());
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
    assert!(!mounts.contains(&shown), "{mounts}");
}
