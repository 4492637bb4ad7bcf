//! Runs whose process is killed after somebody has looked into their file. A test starts itself again as that process, and as the
//! one that looks.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use pitot_host::Fingerprint;
use pitot_results::Failure;

use super::engine::new_cells;
use super::fake::Fake;
use super::tests::{caller, catalog, parse, plan};
use super::{Event, Job, JobResult, Place, Request, Transport, Where, Work, prepare, run};
use pitot_record::file::{NewRun, RunWriter};
use pitot_record::{Repetition, Run, RunState};

/// What a process that the test has started is to do, and with which file.
const ROLE: &str = "PITOT_TEST_ROLE";
const FILE: &str = "PITOT_TEST_FILE";
/// Repetitions of the run; it waits after each.
const REPETITIONS: usize = 9;
/// After so many somebody looks.
const LOOKED_AT: usize = 2;
/// After so many it is killed.
const REPORTED: usize = 8;

/// Brings a result of one repetition for each job.
struct Prompt {
    dir: tempfile::TempDir,
    waiting: Vec<Job>,
}

impl Transport for Prompt {
    fn begin(&mut self, _run: &str) -> Result<(), Failure> {
        Ok(())
    }

    fn offer(&mut self, job: &Job) -> Result<(), Failure> {
        self.waiting.push(job.clone());
        Ok(())
    }

    fn next(&mut self) -> Result<Option<JobResult>, Failure> {
        let Some(job) = self.waiting.pop() else { return Ok(None) };
        let prepared = prepare(job.plan.clone(), String::new(), &catalog(), Where::Elsewhere)?;
        let file = self.dir.path().join(&job.name);
        let (host, cells) = (Fingerprint::default(), new_cells(&prepared, "pitot"));
        let mut writer = RunWriter::create(&file, &NewRun::of(&job.plan, &host, &cells))?;
        writer.record(0, &Repetition::default())?;
        writer.finish(RunState::Complete, "", &host)?;
        Ok(Some(JobResult::Done { job: job.name, host: "x".into(), file }))
    }

    fn settle(&mut self, _job: &str) {}

    fn end(&mut self, _state: RunState) {}
}

/// Tells how many repetitions are recorded, and waits for a byte after each.
fn tell_and_wait(event: &Event<'_>, recorded: &mut usize) {
    if let Event::Measured { .. } = event {
        *recorded += 1;
        eprintln!("recorded {recorded}");
        std::io::stdin().read_exact(&mut [0]).unwrap();
    }
}

/// Does what the environment asks for; nothing in the test's own process.
fn play_a_role() -> bool {
    let (Ok(role), Some(path)) = (std::env::var(ROLE), std::env::var_os(FILE)) else { return false };
    let path = PathBuf::from(path);
    match role.as_str() {
        "look" => look(&path),
        "ordinary" => carry_out(&path, Where::Here, Place::Scripted(&Fake::new())),
        _ => {
            let mut transport = Prompt { dir: tempfile::tempdir().unwrap(), waiting: Vec::new() };
            carry_out(&path, Where::Elsewhere, Place::Jobs(&mut transport));
        }
    }
    true
}

fn carry_out(path: &Path, at: Where, place: Place<'_>) {
    let mut recorded = 0;
    let text =
        plan("server = [\"good\"]").replace("repetitions = 1", &format!("repetitions = {REPETITIONS}"));
    let prepared = Box::new(prepare(parse(&text), text, &catalog(), at).unwrap());
    let work = Work::New { prepared, output: path };
    let request = Request { work, place, trial: false, caller: caller(&|| false) };
    run(request, &mut |event| tell_and_wait(event, &mut recorded)).unwrap();
}

/// As `sqlite3 FILE 'SELECT ...'` does before SQLite 3.51: whoever closes the file and has it alone removes the log.
fn look(path: &Path) {
    let connection = rusqlite::Connection::open(path).unwrap();
    let found: usize = connection.query_row("SELECT count(*) FROM repetition", [], |row| row.get(0)).unwrap();
    assert_eq!(found, LOOKED_AT);
    connection.query_row("PRAGMA wal_checkpoint", [], |_| Ok(())).unwrap();
    drop(connection);
    let file = std::fs::File::options().read(true).write(true).open(path).unwrap();
    if rustix::fs::fcntl_lock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_ok() {
        for end in ["-wal", "-shm"] {
            std::fs::remove_file(pitot_record::database::beside(path, end)).unwrap();
        }
    }
}

fn start(test: &str, role: &str, file: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .envs([(ROLE, role.as_ref()), (FILE, file.as_os_str())])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// The locks of POSIX that a process has on a file (proc_locks(5)).
fn locks(pid: u32, file: &Path) -> usize {
    let inode = std::fs::metadata(file).unwrap().ino();
    let all = std::fs::read_to_string("/proc/locks").unwrap();
    let is_its = |line: &&str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.get(1) == Some(&"POSIX")
            && words.get(4) == Some(&pid.to_string().as_str())
            && words.get(5).is_some_and(|id| id.ends_with(&format!(":{inode}")))
    };
    all.lines().filter(is_its).count()
}

/// Runs until all but the last repetition are reported, looks in between, and kills. The locks before and after the look, and the
/// repetitions that are in the file.
fn looked_at_and_killed(test: &str, role: &str) -> ([usize; 2], usize) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("run.pitot");
    let mut lab = start(test, role, &file);
    let mut go_on = lab.stdin.take().unwrap();
    let mut said = BufReader::new(lab.stderr.take().unwrap()).lines();
    let mut held = [0; 2];
    for number in 1..=REPORTED {
        let reported = format!("recorded {number}");
        assert!(said.by_ref().any(|line| line.unwrap().ends_with(&reported)), "{role} ended before {number}");
        if number == LOOKED_AT {
            held[0] = locks(lab.id(), &file);
            let look = start(test, "look", &file).wait_with_output().unwrap();
            assert!(look.status.success(), "{}", String::from_utf8_lossy(&look.stderr));
            held[1] = locks(lab.id(), &file);
        }
        if number < REPORTED {
            go_on.write_all(b"\n").unwrap();
        }
    }
    lab.kill().unwrap();
    lab.wait().unwrap();
    let run = Run::open(&file).unwrap();
    (held, run.cells.iter().map(|cell| cell.repetitions.len()).sum())
}

#[test]
fn what_was_reported_is_in_the_file_though_somebody_looked_and_the_lab_was_killed() {
    if play_a_role() {
        return;
    }
    let test =
        "runner::killed::what_was_reported_is_in_the_file_though_somebody_looked_and_the_lab_was_killed";
    let ordinary = looked_at_and_killed(test, "ordinary");
    assert_eq!(ordinary, ([1; 2], REPORTED));
    assert_eq!(looked_at_and_killed(test, "scattered"), ordinary);
}
