//! `pitot mail`: a message to many recipients.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use pitot_mail::address::BadAddress;
use pitot_mail::{MailPlan, Observer, Options, Progress, TlsPolicy, output};
use pitot_meter::units;
use pitot_results::mail::MailResult;
use pitot_results::{Failure, Rows, stderr};
use pitot_sys::signal::{Signal, SignalFd};

use crate::mail::Mail;
use crate::output::{create, each, is_stdout, print, write_json};

/// Bad lines of a list that are shown one by one.
const BAD_LINES_SHOWN: u64 = 20;

impl Mail {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let plan = MailPlan::new(&self.options())?;
        let machine = |e: io::Error| {
            Failure::run(
                format!("signals cannot be waited for: {e}"),
                "raise the limit on descriptors with ulimit -n",
            )
        };
        // Before any thread is started, so that all of them leave the signals to this descriptor.
        let signals = SignalFd::new(&Signal::that_end()).map_err(machine)?;
        let allowed = pitot_sys::limits::raise_descriptors().unwrap_or_default();
        if allowed < self.connections.saturating_add(16) {
            return Err(Failure::misuse(
                format!("{} connections need more descriptors than the limit of {allowed}", self.connections),
                "use fewer with -c, or raise the limit with ulimit -Hn",
            ));
        }
        // Opened before the run, so that a file that cannot be written is reported first.
        let json = self.json.as_deref().map(create).transpose()?;
        let mut screen =
            Screen { signals, requests: 0, live: io::stderr().is_terminal(), rows: Rows::default(), bad: 0 };
        if self.dry_run {
            let result = pitot_mail::dry_run(&plan, &mut screen);
            screen.end();
            return self.preview(&plan, &result?, json);
        }
        let result = pitot_mail::run(&plan, &mut screen);
        screen.end();
        let pitot_mail::Finished { report, error } = result?;
        let ended_early = report.ended_early.as_ref().map(|why| {
            Failure::run(
                format!("the run ended early: {why}"),
                if self.journal.is_some() {
                    "run it again with the same journal to continue"
                } else {
                    "use --journal FILE, and the next run continues there"
                },
            )
        });
        let why = error.map(Failure::from).or(ended_early);
        self.show(json, &output::summary(&report), &report, why.map_or(Ok(()), Err))?;
        Ok(if report.is_success() { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }

    /// Prints and writes the result, and then how the run ended.
    fn show(
        &self,
        json: Option<Box<dyn Write>>,
        summary: &str,
        result: &MailResult,
        ended: Result<(), Failure>,
    ) -> Result<(), Failure> {
        let is_quiet = self.json.as_deref().is_some_and(is_stdout);
        each([
            if is_quiet { Ok(()) } else { print(summary) },
            json.map_or(Ok(()), |mut out| write_json(&mut out, serde_json::to_string(result))),
            ended,
        ])
    }

    /// Prints what a dry run has found.
    fn preview(
        &self,
        plan: &MailPlan,
        report: &MailResult,
        json: Option<Box<dyn Write>>,
    ) -> Result<ExitCode, Failure> {
        let ended = report.ended_early.as_ref().map_or(Ok(()), |why| {
            Err(Failure::run(format!("the dry run ended early: {why}"), "run it again"))
        });
        self.show(json, &output::dry_run(plan, report), report, ended)?;
        match report.recipients.bad_lines {
            0 => Ok(ExitCode::SUCCESS),
            n => Err(Failure::misuse(
                units::counted(
                    n,
                    "line of the list is not an address",
                    "lines of the list are not addresses",
                ),
                "correct them; a run skips them and exits with 1",
            )),
        }
    }

    fn options(&self) -> Options {
        Options {
            list: self.list.clone(),
            message: self.message.clone(),
            from: self.from.clone(),
            dns: self.dns.clone(),
            relay: self.relay.clone(),
            port: self.port,
            connections: self.connections,
            connections_per_host: self.connections_per_host,
            recipients_per_transaction: self.recipients_per_transaction,
            transactions_per_connection: self.transactions_per_connection,
            retries: self.retries,
            retry_delay: self.retry_delay,
            timeout_scale: self.timeout_scale,
            tls: self.tls.as_deref().map(policy),
            tls_ca: self.tls_ca.clone(),
            auth_file: self.auth_file.clone(),
            auth_env: self.auth_env.clone(),
            auth_insecure: self.auth_insecure,
            helo: self.helo.clone(),
            journal: self.journal.clone(),
            window: self.window,
            smtputf8: self.smtputf8,
            test_mode: self.test_mode,
            really_send: self.really_send,
            dry_run: self.dry_run,
        }
    }
}

/// The policy of one of the words that `--tls` takes.
fn policy(word: &str) -> TlsPolicy {
    match word {
        "require" => TlsPolicy::Require,
        "off" => TlsPolicy::Off,
        _ => TlsPolicy::Auto,
    }
}

/// Shows progress on a terminal, reports bad lines, and counts Ctrl-C.
struct Screen {
    signals: SignalFd,
    requests: u32,
    /// Standard error is a terminal.
    live: bool,
    rows: Rows,
    /// Lines that are not addresses.
    bad: u64,
}

impl Screen {
    /// Clears the progress line, and counts the bad lines that were not shown.
    fn end(&mut self) {
        self.clear();
        if self.bad > BAD_LINES_SHOWN {
            self.note(&format!("{} more lines are not addresses", self.bad - BAD_LINES_SHOWN));
        }
    }

    /// Clears the progress line.
    fn clear(&mut self) {
        stderr::draw(&self.rows.clear());
    }
}

impl Observer for Screen {
    fn progress(&mut self, progress: &Progress) {
        if self.live {
            stderr::draw(&self.rows.draw("", &output::progress_line(progress)));
        }
    }

    fn bad_line(&mut self, line: u64, why: BadAddress) {
        self.bad += 1;
        if self.bad <= BAD_LINES_SHOWN {
            self.note(&format!("line {line} of the list is not an address: {why}"));
        }
    }

    fn note(&mut self, text: &str) {
        self.clear();
        stderr::line(format_args!("pitot: {text}"));
    }

    fn stop_requests(&mut self) -> u32 {
        while self.signals.next().is_some() {
            self.requests += 1;
        }
        self.requests
    }
}
