//! Whatever is killed with SIGKILL, a fault's own program or the lab, what the fault has done is taken back; and by `pitot host
//! undo` if the fault's guardian is killed as well.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pitot_needs::needs;

use crate::support::{PITOT, Running, stderr, until};

const JOURNAL: &str = "PITOT_HOST_JOURNAL";

/// A server with two workers.
fn serve() -> Running {
    let mut command = Command::new(PITOT);
    command.args(["serve", "http", "--model", "preloop", "--mechanism", "epoll-et", "--workers", "2"]);
    command.args(["--listen", "127.0.0.1:0"]).stdout(Stdio::piped()).stderr(Stdio::null());
    pitot_sys::spawn::isolate(&mut command, &[]);
    let mut server = Running::start(&mut command);
    server.ready();
    server
}

/// The field of /proc/PID/stat after the name: its state is 0, its parent 1, its session 3.
fn stat(pid: u32, field: usize) -> Option<String> {
    let line = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    line.rsplit_once(") ")?.1.split(' ').nth(field).map(str::to_owned)
}

/// The processes of a server that leads its session.
fn members(server: u32) -> Vec<u32> {
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| stat(*pid, 3) == Some(server.to_string())).collect()
}

/// A fault that holds, made on a server by its program, and noted in a journal of the test's own.
fn begin(fault: &str, arguments: &[&str], journal: &Path) -> Running {
    let mut program = Running::start(
        Command::new(PITOT)
            .env(JOURNAL, journal)
            .args(["fault", fault])
            .args(arguments)
            .args(["--for", "10m"])
            .stdout(Stdio::piped()),
    );
    let mut line = String::new();
    BufReader::new(program.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("began "), "{fault}: {line}");
    program
}

/// What a fault has done to a process, as text: its state and its limit on descriptors, and its control groups.
fn condition(pid: u32) -> Option<String> {
    let is_stopped = stat(pid, 0)? == "T";
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
    let descriptors = limits.lines().find(|line| line.starts_with("Max open files"))?.to_owned();
    let groups = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    Some(format!("stopped: {is_stopped}; {descriptors}; {groups}"))
}

fn conditions(server: u32) -> Vec<Option<String>> {
    members(server).into_iter().map(condition).collect()
}

/// Kills the program of a fault with SIGKILL, `times` in succession, and sees the server as it was after each.
fn is_taken_back_from(fault: &str, options: &[&str], times: usize) {
    let server = serve();
    let pid = server.id();
    until("the server never had its workers", || members(pid).len() == 3);
    let before = conditions(pid);
    let dir = tempfile::tempdir().unwrap();
    let journal = dir.path().join("journal");
    for _ in 0..times {
        let mut program = begin(fault, &[&["--pid", &pid.to_string()], options].concat(), &journal);
        // A signal takes a moment.
        until(&format!("{fault} does nothing"), || conditions(pid) != before);
        program.kill();
        until(&format!("{fault} was not taken back: {:?}", conditions(pid)), || conditions(pid) == before);
        until("the guardian did not record it", || std::fs::metadata(&journal).unwrap().len() == 0);
    }
}

/// `pitot host` for a journal: what it prints, and its exit code.
fn host(action: &str, journal: &Path) -> (String, i32) {
    let output = Command::new(PITOT).args(["host", action]).env(JOURNAL, journal).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (String::from_utf8_lossy(&text).into_owned(), output.status.code().unwrap())
}

/// Kills the program of a fault and its guardian with SIGKILL: the fault stays until `pitot host undo`.
fn is_undone_by_hand(fault: &str, options: &[&str]) {
    let server = serve();
    let pid = server.id();
    until("the server never had its workers", || members(pid).len() == 3);
    let before = conditions(pid);
    let dir = tempfile::tempdir().unwrap();
    let journal = dir.path().join("journal");
    let mut program = begin(fault, &[&["--pid", &pid.to_string()], options].concat(), &journal);
    until(&format!("{fault} does nothing"), || conditions(pid) != before);
    let (text, code) = host("status", &journal);
    assert!(code == 0 && text.contains(&format!("process {} will undo it", program.id())), "{text}");
    let (text, code) = host("undo", &journal);
    assert!(code == 1 && text.contains("LEFT ALONE") && !text.contains("taken back"), "{text}");
    kill_with_guardian(&mut program);
    let made = conditions(pid);
    assert_ne!(made, before, "something else has taken {fault} back");
    let (text, code) = host("status", &journal);
    assert!(
        code == 1 && text.contains(&format!("fault {fault}, ")) && text.contains("LEFT BEHIND"),
        "{text}"
    );
    let again = Command::new(PITOT).args(["fault", "stop", "--pid", "0"]).env(JOURNAL, &journal).output();
    let again = stderr(&again.unwrap()).to_owned();
    assert!(again.contains(&format!("warning: left behind: fault {fault}, ")), "{again}");
    assert_eq!(conditions(pid), made, "only `host undo` takes it back");
    let (text, code) = host("undo", &journal);
    assert!(code == 0 && text.contains(": undone"), "{text}");
    until(&format!("{fault} was not taken back: {text}"), || conditions(pid) == before);
    assert_eq!(host("undo", &journal), ("nothing to undo\n".to_owned(), 0));
    assert_eq!(host("status", &journal), ("nothing is changed\n".to_owned(), 0));
}

/// The guardian first, so that it sees nothing end.
fn kill_with_guardian(program: &mut Running) {
    let parent = program.id().to_string();
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let children: Vec<u32> = pids.filter(|pid| stat(*pid, 1).as_ref() == Some(&parent)).collect();
    assert_eq!(children.len(), 1, "a guardian");
    pitot_sys::spawn::stop(children[0], pitot_sys::spawn::Stop::Kill);
    until("the guardian did not die", || stat(children[0], 0).is_none_or(|state| state == "Z"));
    program.kill();
}

#[test]
fn a_stopped_server_goes_on_after_host_undo_when_the_guardian_was_killed_too() {
    is_undone_by_hand("stop", &["--process", "all"]);
}

#[test]
fn a_server_has_its_descriptors_back_after_host_undo_when_the_guardian_was_killed_too() {
    is_undone_by_hand("descriptors", &["--process", "all"]);
}

#[needs("control-groups")]
#[test]
fn a_server_has_its_memory_back_after_host_undo_when_the_guardian_was_killed_too() {
    if memory_can_be_limited() {
        is_undone_by_hand("memory", &[]);
    }
}

/// A server that the fault `stop` has stopped.
struct Stopped {
    server: Running,
    program: Running,
    dir: tempfile::TempDir,
    journal: PathBuf,
}

fn stopped() -> Stopped {
    let server = serve();
    let pid = server.id();
    let dir = tempfile::tempdir().unwrap();
    let journal = dir.path().join("journal");
    let program = begin("stop", &["--pid", &pid.to_string(), "--process", "main"], &journal);
    until("the server was not stopped", || stat(pid, 0).as_deref() == Some("T"));
    Stopped { server, program, dir, journal }
}

#[test]
fn a_fault_whose_guardian_alone_was_killed_is_taken_back_by_its_program() {
    let Stopped { server, mut program, dir: _dir, journal } = stopped();
    let pid = server.id();
    let parent = program.id().to_string();
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    let mut pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let guardian = pids.find(|pid| stat(*pid, 1).as_ref() == Some(&parent)).unwrap();
    pitot_sys::spawn::stop(guardian, pitot_sys::spawn::Stop::Kill);
    pitot_sys::spawn::stop(program.id(), pitot_sys::spawn::Stop::Terminate);
    assert!(program.wait().unwrap().success());
    assert_ne!(stat(pid, 0).as_deref(), Some("T"));
    assert_eq!(host("status", &journal), ("nothing is changed\n".to_owned(), 0));
}

#[test]
fn a_fault_that_cannot_be_noted_is_not_made() {
    let server = serve();
    let pid = server.id();
    let dir = tempfile::tempdir().unwrap();
    let output = Command::new(PITOT)
        .args(["fault", "stop", "--pid", &pid.to_string(), "--process", "all", "--for", "10m"])
        .env(JOURNAL, dir.path())
        .output()
        .unwrap();
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("was not made: the journal") && text.contains("PITOT_HOST_JOURNAL"), "{text}");
    assert!(members(pid).iter().all(|pid| stat(*pid, 0).as_deref() != Some("T")));
}

/// How often each is tried; PITOT_KILLS sets another number.
fn times() -> usize {
    std::env::var("PITOT_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(3)
}

#[test]
fn a_stopped_server_goes_on_when_the_program_that_stopped_it_is_killed() {
    is_taken_back_from("stop", &["--process", "all"], times());
}

#[test]
fn a_server_has_its_descriptors_back_when_the_program_that_took_them_is_killed() {
    is_taken_back_from("descriptors", &["--process", "all"], times());
}

/// Whether the fault can be made; where it cannot, it says why and what fixes it.
fn memory_can_be_limited() -> bool {
    let listed = Command::new(PITOT).args(["list", "faults", "--format", "json"]).output().unwrap();
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    let memory = listed.as_array().unwrap().iter().find(|fault| fault["name"] == "memory").unwrap();
    let is_available = memory["available"] == true;
    assert!(is_available || memory["cause"].is_string() && memory["fix"].is_string(), "{memory}");
    is_available
}

#[needs("control-groups")]
#[test]
fn a_server_has_its_memory_back_when_the_program_that_took_it_is_killed() {
    if memory_can_be_limited() {
        is_taken_back_from("memory", &[], times());
    }
}

#[needs("control-groups")]
#[test]
fn a_server_that_needs_more_than_the_memory_that_is_left_is_killed() {
    // `tail` keeps all of it, and `pipefail` is not everywhere: its own status is that of the pipeline.
    let script = "read go; head -c 300000000 /dev/zero | tail > /dev/null; echo $?";
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = Running::start(&mut command);
    if !memory_can_be_limited() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let aim = ["--pid", &server.id().to_string(), "--bytes", "32MiB"];
    let _fault = begin("memory", &aim, &dir.path().join("journal"));
    server.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    let mut status = String::new();
    BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut status).unwrap();
    // 128 and the number of SIGKILL.
    assert_eq!(status.trim(), "137");
}

#[test]
fn a_fault_ends_when_it_is_asked_to_and_says_when() {
    let Stopped { server, mut program, dir: _dir, journal: _ } = stopped();
    let pid = server.id();
    pitot_sys::spawn::stop(program.id(), pitot_sys::spawn::Stop::Terminate);
    let mut rest = String::new();
    program.stdout.as_mut().unwrap().read_to_string(&mut rest).unwrap();
    assert!(rest.starts_with("ended ") && program.wait().unwrap().success(), "{rest}");
    assert_ne!(stat(pid, 0).as_deref(), Some("T"));
}

/// Processes whose environment names `dir`: everything that a run below it has started.
fn processes_of(dir: &Path) -> Vec<String> {
    let needle = dir.to_string_lossy().into_owned();
    let holds = |path: PathBuf| {
        let bytes = std::fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&bytes).contains(&needle)
    };
    let command = |path: PathBuf| {
        let bytes = std::fs::read(path.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).replace('\0', " ")
    };
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().bytes().all(|b| b.is_ascii_digit()))
        .filter(|entry| holds(entry.path().join("environ")))
        .map(|entry| command(entry.path()))
        .collect()
}

#[test]
fn nothing_of_a_fault_stays_when_the_lab_is_killed() {
    for fault in ["stop", "latency", "dns-fails", "half-open", "descriptors", "cpu-hog"] {
        let dir = tempfile::tempdir().unwrap();
        let load = match fault {
            "dns-fails" => "url = \"http://www.test:{port}/bytes/1024\"\nresolver = \"{resolver}\"",
            _ => "size = \"1KiB\"",
        };
        let plan = format!(
            "repetitions = 1\nduration = \"60s\"\nwarmup = \"50ms\"\n\
             [[faults]]\nkind = \"{fault}\"\nat = \"100ms\"\nfor = \"50s\"\n\
             [server]\nprotocol = \"http\"\n[load]\n{load}\nconnections = 2\n\
             [factors]\nserver = [\"prefork\"]\n"
        );
        std::fs::write(dir.path().join("plan.toml"), plan).unwrap();
        let mut lab = Running::start(
            Command::new(PITOT)
                .args(["run", "plan.toml", "-o", "run.pitot"])
                .current_dir(dir.path())
                .env("TMPDIR", dir.path())
                .env(JOURNAL, dir.path().join("journal"))
                .stdout(Stdio::null())
                .stderr(Stdio::null()),
        );
        let is_made = |command: &String| command.contains(" fault ");
        until(&format!("{fault} was never made"), || processes_of(dir.path()).iter().any(is_made));
        lab.kill();
        until(&format!("{fault}: {:?}", processes_of(dir.path())), || processes_of(dir.path()).is_empty());
        let (text, code) = host("status", &dir.path().join("journal"));
        assert!(code == 0 && text == "nothing is changed\n", "{fault}: {text}");
    }
}

/// Runs a script as root of namespaces of its own, in which it may mount.
fn in_namespaces(script: &str, dir: &Path) -> String {
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-ec", script])
        .current_dir(dir)
        .env("PITOT", PITOT)
        .env(JOURNAL, dir.join("journal"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{text}");
    text
}

#[needs("user-namespaces")]
#[test]
fn a_disk_is_free_again_when_program_and_guardian_are_killed_for_the_file_has_no_name() {
    let dir = tempfile::tempdir().unwrap();
    // Nothing is noted for the guardian; it is killed all the same.
    let text = in_namespaces(
        "mkdir disk; mount -t tmpfs -o size=8m tmpfs disk
         \"$PITOT\" fault disk-full --dir disk --for 60s > began & fault=$!
         while ! grep -q began began; do sleep 0.01; done
         ls -A disk | wc -l
         if echo x > disk/x; then echo not full; fi
         for p in /proc/[0-9]*; do
             if grep -q \"^PPid:.$fault\\$\" $p/status 2> /dev/null; then kill -9 ${p#/proc/}; fi
         done
         kill -9 $fault; wait $fault || true
         dd if=/dev/zero of=disk/whole bs=1M count=7 2> /dev/null && echo free
         \"$PITOT\" host undo",
        dir.path(),
    );
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.first(), Some(&"0"), "no file has a name: {text}");
    assert!(!text.contains("not full"), "{text}");
    assert!(text.contains("\nfree\n") && text.contains("nothing to undo"), "{text}");
}

#[needs("user-namespaces")]
#[test]
fn a_file_system_of_the_machine_is_never_filled() {
    let dir = tempfile::tempdir().unwrap();
    for place in ["/var", "/home"] {
        // The program may be below the place, which the mount hides.
        let text = in_namespaces(
            &format!(
                "exec 9<\"$PITOT\"; mount -t tmpfs -o size=8m tmpfs {place}; mkdir {place}/server
                 ! /proc/self/fd/9 fault disk-full --dir {place}/server --for 1s"
            ),
            dir.path(),
        );
        assert!(
            text.contains(&format!("is on the file system of {place}, which other programs need")),
            "{text}"
        );
    }
}
