//! What is held and runs in slices, on commands from standard input, with answers on standard output: `pitot load --hold` and
//! `pitot exec --hold`.

mod command;

use std::io::{self, BufRead, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;

use pitot_meter::{Nanos, now};
use pitot_results::Failure;
use pitot_results::hold::{Answer, Closed, Opened, Refused, Slice};
use pitot_sys::signal::{Signal, SignalFd};

use command::Command;
pub(crate) use command::DEFAULT_GROUP;

/// What is held: groups by name.
pub(crate) trait Held {
    /// Opens a group that is described by these words.
    fn open(&mut self, group: &str, words: &[String], read_at: Nanos) -> Result<Opened, Failure>;

    /// Runs a slice of a group. `at` is when it is to begin, if that is agreed on.
    fn run(
        &mut self,
        group: &str,
        length: Nanos,
        read_at: Nanos,
        at: Option<Nanos>,
    ) -> Result<Slice, Failure>;

    /// Closes a group.
    fn close(&mut self, group: &str) -> Result<Closed, Failure>;

    /// Called when an answer is out.
    fn answered(&mut self) {}
}

/// Carries out commands until `quit`, the end of input, a signal, or until nobody reads the answers any more. `opened` is what the
/// command line has opened already.
pub(crate) fn carry_out(held: &mut dyn Held, opened: Option<Opened>) -> Result<ExitCode, Failure> {
    if let Some(opened) = opened
        && !print(&Answer::Opened(opened))?
    {
        return Ok(ExitCode::SUCCESS);
    }
    let mut input = io::stdin().lock();
    let mut line = String::new();
    loop {
        line.clear();
        let read = input.read_line(&mut line);
        let read_at = now();
        match read {
            Ok(0) => return Ok(ExitCode::SUCCESS),
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::InvalidData => {
                line.clear();
                line.push_str("a line that is not UTF-8");
            }
            Err(e) => {
                let what = format!("standard input cannot be read: {e}");
                return Err(Failure::run(what, "write commands to it, or omit --hold"));
            }
        }
        let Some(answer) = obey(held, &line, read_at) else { continue };
        if !print(&answer)? || answer == Answer::Quit {
            return Ok(ExitCode::SUCCESS);
        }
        held.answered();
    }
}

/// The answer to a line; none to an empty one.
fn obey(held: &mut dyn Held, line: &str, read_at: Nanos) -> Option<Answer> {
    let command = match Command::parse(line) {
        Ok(command) => command?,
        Err(failure) => return Some(Answer::Error(Refused::new(None, failure))),
    };
    let group = command.group().map(str::to_owned);
    let answer = match command {
        Command::Open { group, words } => held.open(&group, &words, read_at).map(Answer::Opened),
        Command::Run { group, length, at } => {
            held.run(&group, length, read_at, at).map(|slice| Answer::Slice(Box::new(slice)))
        }
        Command::Close { group } => held.close(&group).map(Answer::Closed),
        Command::Quit => Ok(Answer::Quit),
    };
    Some(answer.unwrap_or_else(|failure| Answer::Error(Refused::new(group.as_deref(), failure))))
}

/// Reads the words of `open` after the name, as those of a command line are read.
///
/// # Errors
/// If they are wrong, in terms of `usage`.
pub(crate) fn words_of<T: clap::Parser>(words: &[String], usage: &str) -> Result<T, Failure> {
    let words = std::iter::once("open").chain(words.iter().map(String::as_str));
    T::try_parse_from(words).map_err(|e| {
        let text = e.to_string();
        let what = text.lines().next().unwrap_or_default();
        Failure::misuse(what.strip_prefix("error: ").unwrap_or(what), usage)
    })
}

/// Writes a line; false if nobody reads it.
fn print(answer: &Answer) -> Result<bool, Failure> {
    let failed =
        |e: io::Error| Failure::run(format!("the answer could not be written: {e}"), "is the disk full?");
    let mut line = serde_json::to_string(answer).map_err(|e| failed(e.into()))?;
    line.push('\n');
    let mut out = io::stdout().lock();
    match out.write_all(line.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(e) => Err(failed(e)),
    }
}

/// Ends the process at once, in the middle of a slice too, with SIGTERM or SIGINT, or as soon as nobody is left who could
/// read an answer: a program that is killed leaves no load behind. (The end of input is noticed after the commands
/// before it.)
pub(crate) fn end_with_signal_or_reader() -> Result<(), Failure> {
    let failed = |e: io::Error| {
        Failure::run(format!("signals cannot be awaited: {e}"), "check the limits with ulimit -a")
    };
    let signals = SignalFd::new(&[Signal::Interrupt, Signal::Terminate]).map_err(failed)?;
    std::thread::Builder::new()
        .spawn(move || {
            signals.wait_while_read(io::stdout().as_fd());
            std::process::exit(0);
        })
        .map_err(failed)?;
    Ok(())
}
