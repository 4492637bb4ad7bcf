//! Whatever is killed with SIGKILL, a fault's own program or the lab, what the fault has done is taken back.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use pitot_needs::needs;

const PITOT: &str = env!("CARGO_BIN_EXE_pitot");

/// Kills and waits when dropped.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A server with two workers.
fn serve() -> Guard {
    let mut command = Command::new(PITOT);
    command.args(["serve", "http", "--model", "preloop", "--mechanism", "epoll-et", "--workers", "2"]);
    command.args(["--listen", "127.0.0.1:0"]).stdout(Stdio::piped()).stderr(Stdio::null());
    pitot_sys::spawn::isolate(&mut command, &[]);
    let mut server = Guard(command.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(server.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("ready "), "{line}");
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

/// A fault that holds, made on a server by its program.
fn begin(fault: &str, arguments: &[&str]) -> Guard {
    let mut program = Guard(
        Command::new(PITOT)
            .args(["fault", fault])
            .args(arguments)
            .args(["--for", "10m"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let mut line = String::new();
    BufReader::new(program.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
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
    let pid = server.0.id();
    wait_until("the server never had its workers", || members(pid).len() == 3);
    let before = conditions(pid);
    for _ in 0..times {
        let mut program = begin(fault, &[&["--pid", &pid.to_string()], options].concat());
        // A signal takes a moment.
        wait_until(&format!("{fault} does nothing"), || conditions(pid) != before);
        program.0.kill().unwrap();
        program.0.wait().unwrap();
        wait_until(&format!("{fault} was not taken back: {:?}", conditions(pid)), || {
            conditions(pid) == before
        });
    }
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

/// Whether the fault can be made; where it cannot, it says why and what mends it.
fn memory_can_be_limited() -> bool {
    let listed = Command::new(PITOT).args(["list", "faults", "--format", "json"]).output().unwrap();
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    let memory = listed.as_array().unwrap().iter().find(|fault| fault["name"] == "memory").unwrap();
    let is_available = memory["available"] == true;
    assert!(is_available || memory["cause"].is_string() && memory["cure"].is_string(), "{memory}");
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
    let mut server = Guard(command.spawn().unwrap());
    if !memory_can_be_limited() {
        return;
    }
    let _fault = begin("memory", &["--pid", &server.0.id().to_string(), "--bytes", "32MiB"]);
    server.0.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    let mut status = String::new();
    BufReader::new(server.0.stdout.as_mut().unwrap()).read_line(&mut status).unwrap();
    // 128 and the number of SIGKILL.
    assert_eq!(status.trim(), "137");
}

#[test]
fn a_fault_ends_when_it_is_asked_to_and_says_when() {
    let server = serve();
    let pid = server.0.id();
    let mut program = begin("stop", &["--pid", &pid.to_string(), "--process", "main"]);
    wait_until("the server was not stopped", || stat(pid, 0).as_deref() == Some("T"));
    pitot_sys::spawn::stop(program.0.id(), pitot_sys::spawn::Stop::Terminate);
    let mut rest = String::new();
    program.0.stdout.as_mut().unwrap().read_to_string(&mut rest).unwrap();
    assert!(rest.starts_with("ended ") && program.0.wait().unwrap().success(), "{rest}");
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
        let mut lab = Guard(
            Command::new(PITOT)
                .args(["run", "plan.toml", "-o", "run.pitot"])
                .current_dir(dir.path())
                .env("TMPDIR", dir.path())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap(),
        );
        let is_made = |command: &String| command.contains(" fault ");
        wait_until(&format!("{fault} was never made"), || processes_of(dir.path()).iter().any(is_made));
        lab.0.kill().unwrap();
        lab.0.wait().unwrap();
        wait_until(&format!("{fault}: {:?}", processes_of(dir.path())), || {
            processes_of(dir.path()).is_empty()
        });
    }
}
