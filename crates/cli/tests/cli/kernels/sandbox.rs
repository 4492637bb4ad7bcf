//! gVisor as a kernel: a command in its sandbox, a plan beside the kernel of the host, and nothing left of a run that is killed.

use pitot_needs::needs;
use pitot_record::{Run, metric};
use pitot_results::VerdictKind;

use super::process::{assert_that_a_killed_run_leaves_nothing, left, pitot};
use crate::support::text;

fn plan(duration: &str, repetitions: u32) -> String {
    format!(
        "repetitions = {repetitions}\nwarmup = \"50ms\"\nduration = \"{duration}\"\nbaseline = {{ kernel = \"host\" }}\n\
         [server]\nprotocol = \"http\"\nroot = \"{{dir}}\"\n[load]\nconnections = 4\nurl = \"http://{{address}}/a\"\n\
         [files]\na = {{ size = \"1KiB\" }}\n\
         [factors]\nkernel = [\"host\", \"gvisor\"]\nserver = [\"loop+epoll-et\", \"loop+uring\"]\n"
    )
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
        let is_of = |levels: &[pitot_plan::FactorLevel]| {
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
    let alone =
        plan("60s", 1).replace("[\"host\", \"gvisor\"]", "[\"gvisor\"]").replace("\"host\"", "\"gvisor\"");
    std::fs::write(dir.path().join("plan.toml"), alone).unwrap();
    assert_that_a_killed_run_leaves_nothing(dir.path(), "runsc-sandbox");
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
    assert!(!mounts.contains(&*dir.path().to_string_lossy()), "{mounts}");
}
