//! `pitot exec`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgAction, Args, Parser};
use pitot_exec::{Recipe, Session};
use pitot_meter::{Histogram, Nanos, now, units};
use pitot_results::hold::{Closed, Opened, Slice};
use pitot_results::load::{self, Executions, LoadResult};
use pitot_results::{Drawn, Failure, Latency};

use crate::hold::{self, Held};
use crate::output::{Sink, table};
use crate::words;

/// Execute a command again and again, and measure what each execution uses.
///
/// CPU time, memory, page faults and context switches are those of the command and of all children that it waits for, as wait4(2)
/// reports them. Standard output goes to a file in memory, and its length and checksum tell whether executions printed the same.
/// `pitot diff` compares two commands.
#[derive(Debug, Args)]
pub(crate) struct Exec {
    #[command(flatten)]
    what: What,
    /// Execute it for this time.
    #[arg(short, long, value_name = "TIME", value_parser = units::duration, default_value = "3s")]
    duration: Nanos,
    /// Output file for the result as JSON; - is standard output.
    #[arg(long, value_name = "PATH")]
    json: Option<PathBuf>,
    /// Hold commands, and execute them on requests from standard input: open NAME --command LINE OPTIONS, run NAME TIME, close NAME,
    /// quit. Each is answered by one line of JSON, as with pitot load --hold.
    #[arg(long, conflicts_with = "command")]
    hold: bool,
}

/// What is executed.
#[derive(Debug, Args)]
struct What {
    /// The command with its arguments, as for a shell, but executed without one: './app --fast "in.txt"'.
    #[arg(long, value_name = "LINE", required_unless_present = "hold")]
    command: Option<String>,
    /// The directory in which it runs. [default: this one]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// A variable of its environment; may be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// The file that it reads as its standard input. [default: nothing]
    #[arg(long, value_name = "FILE")]
    stdin: Option<PathBuf>,
    /// Run this before each execution, by sh -c, unmeasured.
    #[arg(long, value_name = "LINE")]
    prepare: Option<String>,
    /// Run this after each execution, by sh -c, unmeasured.
    #[arg(long, value_name = "LINE")]
    cleanup: Option<String>,
    /// Values for placeholders: with size=10 {size} in the command, in --prepare and --cleanup is 10. Several are separated by blanks.
    #[arg(long, value_name = "NAME=VALUE ...")]
    parameter: Option<String>,
    /// Kill an execution that takes longer.
    #[arg(long, value_name = "TIME", value_parser = units::duration, default_value = "1h")]
    timeout: Nanos,
}

/// The words of `open` after the name.
#[derive(Debug, Parser)]
#[command(name = "open NAME", disable_help_flag = true)]
struct OpenCommand {
    #[command(flatten)]
    what: What,
    /// It would print to standard output, where only answers are expected.
    #[arg(long, hide = true, action = ArgAction::SetTrue)]
    hold: bool,
}

impl What {
    fn recipe(&self) -> Result<Recipe, Failure> {
        let parameters = self.parameters()?;
        let filled = |text: &str| {
            parameters
                .iter()
                .fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
        };
        let line = self.command.as_deref().unwrap_or_default();
        let words = command_words(line)?;
        if words.is_empty() {
            return Err(Failure::misuse("the command is empty", "write --command './app --fast'"));
        }
        let env = self.env.iter().map(|variable| named(variable, "--env")).collect::<Result<_, _>>()?;
        Ok(Recipe {
            command: words.iter().map(|word| filled(word)).collect(),
            cwd: self.cwd.clone(),
            env,
            stdin: self.stdin.clone(),
            prepare: self.prepare.as_deref().map(filled),
            cleanup: self.cleanup.as_deref().map(filled),
            timeout: self.timeout,
        })
    }

    fn parameters(&self) -> Result<Vec<(String, String)>, Failure> {
        let text = self.parameter.as_deref().unwrap_or_default();
        let words = words::split(text, &[])
            .map_err(|flaw| Failure::misuse(format!("--parameter: {flaw}"), "write --parameter 'size=10'"))?;
        words.iter().map(|word| named(word, "--parameter")).collect()
    }
}

/// The words of a command line that needs no shell.
///
/// # Errors
/// If it needs one, or a quote is not closed.
pub(crate) fn command_words(line: &str) -> Result<Vec<String>, Failure> {
    words::split(line, words::OF_SHELLS).map_err(|flaw| {
        let fix = match flaw {
            words::Flaw::Refused(_) => format!("use sh -c '{}'", line.replace('\'', "'\\''")),
            words::Flaw::Quote(_) | words::Flaw::Backslash => {
                "close the quote, or omit the backslash".to_owned()
            }
        };
        Failure::misuse(format!("`{line}` is executed without a shell, and {flaw}"), fix)
    })
}

/// `NAME=VALUE`, taken apart.
fn named(text: &str, option: &str) -> Result<(String, String), Failure> {
    match text.split_once('=').filter(|(name, _)| !name.is_empty()) {
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => {
            Err(Failure::misuse(format!("`{text}` is no NAME=VALUE"), format!("write {option} NAME=VALUE")))
        }
    }
}

impl Exec {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let mut session = Session::new()?;
        if self.hold {
            hold::end_with_signal_or_reader()?;
            return hold::carry_out(&mut session, None);
        }
        let recipe = self.what.recipe()?;
        let sink = Sink::create(self.json.as_deref())?;
        session.open("", recipe, now())?;
        let result = result(&self, &session.run("", self.duration, now())?)?;
        sink.write(&Drawn::default().text(shown(&result)), &result)?;
        Ok(ExitCode::SUCCESS)
    }

    /// Whether its options can be carried out.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.hold { Ok(()) } else { self.what.recipe().map(drop) }
    }
}

impl Held for Session {
    fn open(&mut self, group: &str, words: &[String], read_at: Nanos) -> Result<Opened, Failure> {
        let usage = "write open NAME --command LINE [OPTIONS]";
        let of: OpenCommand = hold::words_of(words, usage)?;
        if of.hold || of.what.command.is_none() {
            return Err(Failure::misuse("`open` takes a command", usage));
        }
        Session::open(self, group, of.what.recipe()?, read_at)
    }

    fn run(
        &mut self,
        group: &str,
        length: Nanos,
        read_at: Nanos,
        _: Option<Nanos>,
    ) -> Result<Slice, Failure> {
        Session::run(self, group, length, read_at)
    }

    fn close(&mut self, group: &str) -> Result<Closed, Failure> {
        Session::close(self, group)
    }
}

/// A slice in the form of a load generator's result.
fn result(exec: &Exec, slice: &Slice) -> Result<LoadResult, Failure> {
    let times = Histogram::decode(&slice.histogram)
        .map_err(|e| Failure::run(format!("the times cannot be read: {e}"), "report this as a bug"))?;
    let duration_s = slice.duration_us / 1e6;
    let mut result = LoadResult {
        schema: load::SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        target: exec.what.command.clone().unwrap_or_default(),
        duration_s,
        clock_ns: slice.clock_ns,
        throughput_rps: slice.requests as f64 / duration_s.max(f64::MIN_POSITIVE),
        executions: slice.executions.clone(),
        histograms: [("response".to_owned(), slice.histogram.clone())].into(),
        ..LoadResult::default()
    };
    result.requests.attempted = slice.requests;
    result.requests.completed = slice.requests;
    result.requests.ok = slice.requests;
    result.bytes.received = slice.bytes_received;
    result.bytes.content = slice.bytes_content;
    result.latency_ns.response = Latency::of(&times);
    result.client.cpu_user_s = slice.client_user_us / 1e6;
    result.client.cpu_system_s = slice.client_system_us / 1e6;
    Ok(result)
}

/// The figures of an execution, for people.
fn shown(result: &LoadResult) -> String {
    let count = result.requests.ok.max(1) as f64;
    let used: Executions = result.executions.clone().unwrap_or_default();
    let time = |seconds: f64| Nanos((seconds / count * 1e9).round() as u64).to_string();
    let each = |n: u64| format!("{:.1}", n as f64 / count);
    let wall = result.latency_ns.response;
    let memory = match used.memory_bytes {
        0 => "too small to be known".to_owned(),
        bytes => units::bytes((bytes as f64 / count) as u64),
    };
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let mut rows = vec![
        row("executions", result.requests.ok.to_string()),
        row("CPU time", time(used.user_s + used.system_s)),
        row("  user", time(used.user_s)),
        row("  system", time(used.system_s)),
        row("wall time", time(result.duration_s)),
        row("  shortest", Nanos(wall.min).to_string()),
        row("  longest", Nanos(wall.max).to_string()),
        row("peak memory", memory),
        row("page faults", each(used.faults_minor + used.faults_major)),
        row("context switches", each(used.switches_voluntary + used.switches_involuntary)),
    ];
    rows.extend(used.outcomes.iter().map(|(outcome, count)| row(&format!("{count} times"), outcome.clone())));
    table(&["of an execution, on average", ""], &rows)
}
