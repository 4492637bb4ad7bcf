//! Output of short commands, such as `nginx -v`, or of commands that run until stopped.

use std::io::{self, Read};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pitot_sys::spawn::isolate;
use pitot_sys::user::User;

/// Timeout of a short command, which may include a remote login.
pub(super) const TIMEOUT: Duration = Duration::from_secs(30);
/// Interval of checks whether it has ended.
const INTERVAL: Duration = Duration::from_millis(2);
/// Timeout for its streams after its end, since a background process such as a shared ssh connection may keep them open.
const STREAMS_MAX: Duration = Duration::from_secs(1);
/// Maximum length of the output.
const BYTES_MAX: usize = 1 << 20;

/// A command whose output is wanted.
pub(super) struct Asked<'a> {
    pub(super) argv: &'a [String],
    /// Its working directory, if it matters.
    pub(super) cwd: Option<&'a str>,
    /// Environment variables: names and values.
    pub(super) env: Vec<(String, String)>,
}

/// Its stdout on this machine, then its stderr. It runs as `user`, if not as this process's. The error is a sentence.
pub(super) fn here(asked: &Asked<'_>, user: Option<User>) -> Result<String, String> {
    within(TIMEOUT, asked, user)
}

fn within(timeout: Duration, asked: &Asked<'_>, user: Option<User>) -> Result<String, String> {
    let [program, arguments @ ..] = asked.argv else { return Ok(String::new()) };
    let mut command = Command::new(program);
    command.args(arguments).envs(asked.env.iter().map(|(name, value)| (name, value))).stdin(Stdio::null());
    if let Some(cwd) = asked.cwd {
        command.current_dir(cwd);
    }
    let deadline = Instant::now() + timeout;
    let ran = run_as(user, command, &|| Instant::now() >= deadline).map_err(|e| e.to_string())?;
    ran.map(|ran| ran.stdout + &ran.stderr)
        .ok_or_else(|| format!("`{program}` did not end within {} s", timeout.as_secs()))
}

/// A command that has ended.
pub(super) struct Ran {
    pub(super) status: ExitStatus,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// Runs a command with the stdin that the caller has set. It is killed once `enough` is true, and then there is no result.
/// It has its own session, so that Ctrl-C does not reach it.
///
/// # Errors
/// If it cannot be started.
pub(super) fn run(command: Command, enough: &dyn Fn() -> bool) -> io::Result<Option<Ran>> {
    run_as(None, command, enough)
}

fn run_as(user: Option<User>, mut command: Command, enough: &dyn Fn() -> bool) -> io::Result<Option<Ran>> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    isolate(&mut command, &[]);
    if let Some(user) = user {
        user.run(&mut command);
    }
    let mut child = command.spawn()?;
    let (stdout, stderr) = (Said::follow(child.stdout.take()), Said::follow(child.stderr.take()));
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if enough() {
            let _ = child.kill();
            let _ = child.wait();
            return Ok(None);
        }
        std::thread::sleep(INTERVAL);
    };
    let deadline = Instant::now() + STREAMS_MAX;
    while !(stdout.is_whole() && stderr.is_whole()) && Instant::now() < deadline {
        std::thread::sleep(INTERVAL);
    }
    Ok(Some(Ran { status, stdout: stdout.text(), stderr: stderr.text() }))
}

/// The output of a stream so far.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<Bytes>>);

#[derive(Default)]
struct Bytes {
    bytes: Vec<u8>,
    is_whole: bool,
}

impl Said {
    /// Reads a stream to its end in a thread.
    fn follow(stream: Option<impl Read + Send + 'static>) -> Said {
        let said = Said::default();
        let kept = said.clone();
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            if let Some(mut stream) = stream {
                while let Ok(n @ 1..) = stream.read(&mut part) {
                    kept.keep(&part[..n]);
                }
            }
            kept.0.lock().unwrap_or_else(PoisonError::into_inner).is_whole = true;
        });
        said
    }

    fn keep(&self, part: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = BYTES_MAX.saturating_sub(kept.bytes.len());
        kept.bytes.extend(part.iter().take(room));
    }

    fn is_whole(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_whole
    }

    fn text(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept.bytes).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a script prints, which may take so long.
    fn asked(script: &str, timeout: Duration) -> Result<String, String> {
        let argv = ["sh", "-c", script].map(str::to_owned);
        within(timeout, &Asked { argv: &argv, cwd: None, env: vec![("X".into(), "x".into())] }, None)
    }

    #[test]
    fn both_streams_are_read_and_what_stays_in_the_background_is_not_waited_for() {
        let long = Duration::from_secs(120);
        assert_eq!(asked("echo b >&2; echo a$X; exit 3", long).as_deref(), Ok("ax\nb\n"));
        assert_eq!(asked("sleep 5 & echo a", long).as_deref(), Ok("a\n"));
        let many = asked(
            "i=0; while [ $i -lt 2000 ]; do echo 0123456789012345678901234567890; i=$((i + 1)); done",
            long,
        );
        assert_eq!(many.unwrap().len(), 64_000, "more than a pipe holds");
    }

    #[test]
    fn a_command_that_does_not_end_is_killed() {
        let said = asked("echo $$; exec sleep 600", Duration::from_secs(1)).unwrap_err();
        assert_eq!(said, "`sh` did not end within 1 s");
    }
}
