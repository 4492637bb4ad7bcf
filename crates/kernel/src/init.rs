//! The first process of a guest: mounts file systems, runs the job, and sends its result.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use rustix::mount::{MountFlags, mount};
use rustix::process::{Pid, WaitOptions, WaitStatus, wait};
use rustix::system::RebootCommand;
use rustix::termios::{OptionalActions, tcdrain, tcgetattr, tcsetattr};

use crate::cpio::{Writer, content};
use crate::job::{JOB, Job, OUTCOME, OUTPUT_BYTES_MAX, RESULT, RESULT_BYTES_MAX, STDERR, STDOUT, Summary};
use crate::modules;

/// The serial line for the result; the first one is the console.
const LINE: &str = "/dev/ttyS1";

/// Types and paths of mounts. Those that this kernel does not support are skipped.
const MOUNTS: [(&str, &str); 8] = [
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("devtmpfs", "/dev"),
    ("devpts", "/dev/pts"),
    ("tmpfs", "/dev/shm"),
    ("tmpfs", "/tmp"),
    ("tmpfs", "/run"),
    ("cgroup2", "/sys/fs/cgroup"),
];

/// The first process of a sandbox, in which everything is mounted and the loopback interface is up: runs the job, and
/// writes its result to a file.
///
/// # Errors
/// If this is not the first process of a sandbox, or the file cannot be written.
pub fn first_process_of_sandbox(answer: &Path) -> io::Result<()> {
    check()?;
    let answered = carry_out()?;
    fs::write(answer, answered)
}

fn check() -> io::Result<()> {
    match std::process::id() == 1 && Path::new(JOB).exists() {
        true => Ok(()),
        false => Err(io::Error::other("this is not the first process of a guest")),
    }
}

/// The first process of a guest. It returns only if this is not a guest.
///
/// # Errors
/// If this is not the first process of a guest.
pub fn first_process() -> io::Result<()> {
    check()?;
    mount_all();
    modules::load_all();
    if let Err(e) = carry_out().and_then(|answer| send(&answer)) {
        // The host shows the last output of the console.
        eprintln!("pitot: the job could not be run: {e}");
    }
    rustix::fs::sync();
    // QEMU exits instead of rebooting.
    Ok(rustix::system::reboot(RebootCommand::Restart)?)
}

fn mount_all() {
    for (kind, place) in MOUNTS {
        let _ = fs::create_dir_all(place);
        let _ = mount(kind, place, kind, MountFlags::NOSUID, None);
    }
    for (link, target) in [("/dev/fd", "/proc/self/fd"), ("/dev/stdin", "/proc/self/fd/0")] {
        let _ = std::os::unix::fs::symlink(target, link);
    }
    if let Err(e) = pitot_sys::loopback::raise() {
        eprintln!("pitot: the loopback interface is down: {e}");
    }
}

/// Runs the job and returns its result as an archive.
fn carry_out() -> io::Result<Vec<u8>> {
    let mut summary = Summary {
        release: rustix::system::uname().release().to_string_lossy().into_owned(),
        ..Summary::default()
    };
    let job: Job = serde_json::from_slice(&fs::read(JOB)?)?;
    let began = Instant::now();
    match run(&job) {
        Ok(code) => summary.code = Some(code),
        Err(e) => summary.reason = e.to_string(),
    }
    summary.elapsed_ns = began.elapsed().as_nanos() as u64;
    archive(&job, &summary)
}

/// Runs the program. Meanwhile this process reaps orphans, as the first process must.
fn run(job: &Job) -> io::Result<i32> {
    let (program, arguments) = job.argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    command.stdout(File::create(output(STDOUT))?).stderr(File::create(output(STDERR))?);
    command.env_clear().current_dir("/tmp");
    command.envs([
        ("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"),
        ("HOME", "/root"),
        ("TMPDIR", "/tmp"),
        ("LC_ALL", "C"),
    ]);
    let child = command.spawn()?;
    let pid = Pid::from_raw(child.id() as i32);
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((ended, status))) if Some(ended) == pid => return Ok(code(status)),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
}

fn code(status: WaitStatus) -> i32 {
    let status = std::process::ExitStatus::from_raw(status.as_raw());
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

fn output(name: &str) -> String {
    format!("/run/{name}")
}

fn send(archive: &[u8]) -> io::Result<()> {
    let mut line = OpenOptions::new().read(true).write(true).open(LINE)?;
    let mut mode = tcgetattr(&line)?;
    // Bytes go through as they are.
    mode.make_raw();
    tcsetattr(&line, OptionalActions::Now, &mode)?;
    line.write_all(archive)?;
    Ok(tcdrain(&line)?)
}

fn archive(job: &Job, summary: &Summary) -> io::Result<Vec<u8>> {
    let mut archive = Writer::new(Vec::new());
    archive.file(OUTCOME, 0o644, &serde_json::to_vec(summary)?)?;
    for name in [STDOUT, STDERR] {
        let mut printed = fs::read(output(name)).unwrap_or_default();
        printed.truncate(OUTPUT_BYTES_MAX as usize);
        archive.file(name, 0o644, &printed)?;
    }
    if let Some(path) = &job.result
        && let Ok(result) = content(Path::new(path), RESULT_BYTES_MAX)
    {
        archive.file(RESULT, 0o644, &result)?;
    }
    archive.finish()
}
