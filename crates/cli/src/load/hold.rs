//! `pitot load --hold`: commands on standard input, answers on standard output.

use std::io::{self, BufRead, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;

use clap::{ArgAction, Parser};
use pitot_load::Session;
use pitot_meter::{Nanos, now};
use pitot_results::Failure;
use pitot_results::hold::{Answer, Refused};
use pitot_sys::signal::{Signal, SignalFd};

use super::command::{Command, DEFAULT_GROUP};
use super::options::Load;

/// `pitot load --hold`.
const WORDS_WITHOUT_URL: usize = 3;

/// The words of `open` after the name, read as those of a command line are.
#[derive(Debug, Parser)]
#[command(name = "open NAME", disable_help_flag = true)]
struct OpenCommand {
    #[command(flatten)]
    load: Load,
    /// It would print to standard output, where only answers are expected.
    #[arg(long, hide = true, action = ArgAction::SetTrue)]
    help: bool,
}

/// Carries out commands until `quit`, the end of input, a signal, or until nobody reads the answers any more.
pub(super) fn run(load: &Load) -> Result<ExitCode, Failure> {
    end_with_signal_or_reader()?;
    let mut session = Session::new();
    if load.url.is_none() && std::env::args_os().len() > WORDS_WITHOUT_URL {
        return Err(Failure::misuse(
            "options without a URL to open",
            "write pitot load --hold URL OPTIONS, or give the options to each `open`",
        ));
    }
    if load.url.is_some() {
        // What is wrong with the command line is said as for any other.
        let opened = open(&mut session, DEFAULT_GROUP, load, now())?;
        if !print(&opened)? {
            return Ok(ExitCode::SUCCESS);
        }
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
        let Some(answer) = obey(&mut session, &line, read_at) else { continue };
        if !print(&answer)? || answer == Answer::Quit {
            return Ok(ExitCode::SUCCESS);
        }
        session.clear();
    }
}

/// The answer to a line; none to an empty one.
fn obey(session: &mut Session, line: &str, read_at: Nanos) -> Option<Answer> {
    let command = match Command::parse(line) {
        Ok(command) => command?,
        Err(failure) => return Some(Answer::Error(Refused::new(None, failure))),
    };
    let group = command.group().map(str::to_owned);
    let answer = match command {
        Command::Open { group, words } => {
            target(&words).and_then(|load| open(session, &group, &load, read_at))
        }
        Command::Run { group, length, at } => {
            session.run(&group, length, read_at, at).map(|slice| Answer::Slice(Box::new(slice)))
        }
        Command::Close { group } => session.close(&group).map(Answer::Closed),
        Command::Quit => Ok(Answer::Quit),
    };
    Some(answer.unwrap_or_else(|failure| Answer::Error(Refused::new(group.as_deref(), failure))))
}

/// Reads a URL and options.
fn target(words: &[String]) -> Result<Load, Failure> {
    let fix = "write it as for pitot load: open NAME URL [OPTIONS]";
    let words = std::iter::once("open").chain(words.iter().map(String::as_str));
    let target = OpenCommand::try_parse_from(words).map_err(|e| {
        let text = e.to_string();
        let what = text.lines().next().unwrap_or_default();
        Failure::misuse(what.strip_prefix("error: ").unwrap_or(what), fix)
    })?;
    let meaningless =
        [("--help", target.help), ("--hold", target.load.hold), ("--dry-run", target.load.dry_run)];
    match meaningless.iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(Failure::misuse(format!("{option} does not apply to a command"), fix)),
        None => Ok(target.load),
    }
}

fn open(session: &mut Session, group: &str, load: &Load, read_at: Nanos) -> Result<Answer, Failure> {
    let output = [
        ("--json", load.json.is_some()),
        ("--csv", load.csv.is_some()),
        ("--hlog", load.hlog.is_some()),
        ("-L", load.latency),
        ("--timeline", load.timeline),
        ("--progress", load.progress.is_some()),
        ("--confine", load.confine),
        ("--keep-secrets", load.keep_secrets),
        ("--from", load.from.is_some()),
        ("--worker", load.worker.is_some()),
    ];
    if let Some((option, _)) = output.iter().find(|(_, given)| *given) {
        return Err(Failure::misuse(
            format!("{option} does not apply with --hold"),
            "omit it: each slice is answered by a line of JSON on standard output",
        ));
    }
    session.open(group, &load.options(), read_at).map(Answer::Opened)
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
fn end_with_signal_or_reader() -> Result<(), Failure> {
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
