//! Copies this program to the hosts of a plan, with the commands that start their agents.
//!
//! Such a command is a remote shell, then the program there, then `agent`: `ssh a ./pitot agent`. Its first part also runs `mkdir`,
//! `rm`, `dd`, `chmod` and `mv`, which need no shell there.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use pitot_results::{Failure, printable};

use crate::runner::printed;
use pitot_plan::{Host, Plan};

/// Suffix of an unfinished copy: a running program cannot be written, only replaced.
const PARTIAL: &str = ".new";

/// Copies `program` to each host of the server or load, to the path in its `agent`, until `stop` is true.
///
/// # Errors
/// If `agent` has no path, or a command fails or is stopped.
pub fn push(plan: &Plan, program: &Path, stop: &dyn Fn() -> bool) -> Result<(), Failure> {
    if plan.hosts.is_empty() {
        return Err(Failure::misuse(
            "--push copies Pitot to the hosts of a plan, and this plan has none",
            "remove --push, or add hosts under [hosts] (docs/agent.md)",
        ));
    }
    let server = plan.host(plan.server_host.as_deref());
    let mut done: Vec<&str> = Vec::new();
    for host in server.into_iter().chain(plan.load_hosts()) {
        if !done.contains(&host.name.as_str()) {
            push_to(host, program, stop)?;
            done.push(&host.name);
        }
    }
    Ok(())
}

fn push_to(host: &Host, program: &Path, stop: &dyn Fn() -> bool) -> Result<(), Failure> {
    let (way, path) = destination(&host.agent).ok_or_else(|| {
        Failure::misuse(
            format!("--push does not know where to copy Pitot on the host `{}`", host.name),
            "end its command with a path and `agent`: agent = [\"ssh\", \"a\", \"./pitot\", \"agent\"]",
        )
    })?;
    let partial = format!("{path}{PARTIAL}");
    let folder = path.rsplit_once('/').map_or(".", |(folder, _)| folder);
    let folder = if folder.is_empty() { "/" } else { folder };
    let target = format!("of={partial}");
    let content = File::open(program).map(Stdio::from).map_err(|e| {
        Failure::run(format!("{} cannot be read: {e}", program.display()), "check its permissions")
    })?;
    let steps: [(&[&str], Stdio); 5] = [
        (&["mkdir", "-p", folder], Stdio::null()),
        // An existing file or link is not written to.
        (&["rm", "-f", &partial], Stdio::null()),
        (&["dd", &target, "bs=1M", "conv=excl"], content),
        (&["chmod", "700", &partial], Stdio::null()),
        (&["mv", "-f", &partial, path], Stdio::null()),
    ];
    for (step, input) in steps {
        run(way, step, input, stop).map_err(|why| {
            Failure::run(
                format!("Pitot could not be copied to the host `{}`: `{}` {why}", host.name, step.join(" ")),
                "run this command by hand, after the first part of the host's `agent` (docs/agent.md)",
            )
        })?;
    }
    Ok(())
}

/// The remote shell of a host, and the path of the program there.
fn destination(agent: &[String]) -> Option<(&[String], &str)> {
    let [way @ .., path, word] = agent else { return None };
    // A shell may expand the path, so it must be plain.
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    let is_path =
        path.contains('/') && !path.ends_with('/') && !path.starts_with('-') && path.chars().all(plain);
    (word == "agent" && !way.is_empty() && is_path).then_some((way, path))
}

/// Runs a command on the host. The error is the end of a sentence.
fn run(way: &[String], step: &[&str], input: Stdio, stop: &dyn Fn() -> bool) -> Result<(), String> {
    let [program, arguments @ ..] = way else { return Err("has no command to reach the host".into()) };
    let mut command = Command::new(program);
    command.args(arguments).args(step).stdin(input);
    let ran = printed::run(command, stop).map_err(|e| format!("could not be started: {e}"))?;
    let ran = ran.ok_or("was stopped")?;
    if ran.status.success() {
        return Ok(());
    }
    let last = last_complaint(&ran.stderr).unwrap_or_else(|| "it printed nothing".to_owned());
    Err(format!("failed ({}): {last}", ran.status))
}

/// The last line of an error: an indented line after it, as in Pitot's errors, is its fix.
pub(super) fn last_complaint(stderr: &str) -> Option<String> {
    let mut lines = stderr.lines().rev().filter(|line| !line.trim().is_empty());
    let line = lines.clone().find(|line| !line.starts_with([' ', '\t'])).or_else(|| lines.next());
    line.map(|line| printable(line.trim()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_complaint_is_told_without_its_remedy() {
        let stderr = "the agent starts\npitot: no key that is trusted here has signed it\n  see what it says there\n\n";
        let last = |stderr| last_complaint(stderr).unwrap_or_default();
        assert_eq!(last(stderr), "pitot: no key that is trusted here has signed it");
        assert_eq!(last("  ssh: refused\n"), "ssh: refused");
        assert_eq!(last("\x1b[2Jgone\n"), r"\x1b[2Jgone");
        assert_eq!(last_complaint("\n \n"), None);
    }

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn the_way_ends_where_the_program_begins() {
        let agent = words("ssh -p 22 a ./bin/pitot agent");
        let (way, path) = destination(&agent).unwrap();
        assert_eq!((way.join(" ").as_str(), path), ("ssh -p 22 a", "./bin/pitot"));
        for unknown in
            ["ssh a pitot agent", "./pitot agent", "ssh a ./pi;tot agent", "ssh a ./x/ agent", "ssh a ./p go"]
        {
            assert!(destination(&words(unknown)).is_none(), "{unknown}");
        }
    }

    #[test]
    fn a_program_is_copied_whole_and_may_be_run() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("program");
        std::fs::write(&program, vec![7; 3_000_001]).unwrap();
        let copy = dir.path().join("far/away/pitot");
        let host = |agent: &str| Host {
            name: "a".into(),
            agent: words(agent),
            address: [127, 0, 0, 1].into(),
            cpus: "0".into(),
        };
        // A link where the copy is written first: nothing is written through it.
        std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
        let victim = dir.path().join("victim");
        std::os::unix::fs::symlink(&victim, copy.with_extension("new")).unwrap();
        // Twice: the second replaces the first.
        for _ in 0..2 {
            push_to(&host(&format!("env {} agent", copy.display())), &program, &|| false).unwrap();
        }
        assert!(!victim.exists());
        assert_eq!(std::fs::read(&copy).unwrap().len(), 3_000_001);
        assert_eq!(copy.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(std::fs::read_dir(copy.parent().unwrap()).unwrap().count(), 1);
        let none = Path::new("/nonexistent");
        let failed = push_to(&host("env ./none/x/pitot/agent agent"), none, &|| false).unwrap_err();
        assert!(failed.what.contains("/nonexistent"), "{}", failed.what);
        let failed = push_to(&host("env /proc/x/pitot agent"), &program, &|| false).unwrap_err();
        assert!(failed.what.contains("`mkdir -p /proc/x` failed"), "{}", failed.what);
        // A way that has no end.
        let endless = host("sh -c exec${IFS}sleep${IFS}600 ./pitot agent");
        let stopped = push_to(&endless, &program, &|| true).unwrap_err();
        assert!(stopped.what.contains("was stopped"), "{}", stopped.what);
    }
}
