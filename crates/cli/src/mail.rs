//! `pitot mail`.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use pitot_mail::address::BadAddress;
use pitot_mail::{MailPlan, Observer, Options, Progress, TlsPolicy, output};
use pitot_meter::{Nanos, units};
use pitot_results::mail::MailResult;
use pitot_results::{Failure, Rows, stderr};
use pitot_sys::signal::{Signal, SignalFd};

use crate::output::{create, each, is_stdout, print, write_json};

/// Bad lines of a list that are shown one by one.
const BAD_LINES_SHOWN: u64 = 20;

/// Send one message to many recipients, or test how fast that would go.
///
/// Recipients are grouped by domain, the domains' mail hosts found by DNS, and each host gets as many recipients per
/// transaction and transactions per connection as allowed. A refusal with 5xx is final, 4xx is retried. With a journal a
/// run that was stopped or killed continues where it was: a recipient whose outcome is there is never sent to again, and
/// at most as many recipients as there are connections (-c) may get the message twice.
///
/// Exit code 0: every recipient was accepted. 1: some were not, or the run ended early. 2: misuse; with --dry-run also a list
/// with lines that are not addresses.
#[derive(Debug, Args)]
pub(crate) struct Mail {
    /// The recipients, one address a line.
    #[arg(long, value_name = "FILE")]
    list: PathBuf,
    /// The message, with its header. Lines may end in LF or CR LF.
    #[arg(long, value_name = "FILE")]
    message: PathBuf,
    /// The sender, who gets bounces; '<>' for none.
    #[arg(long, value_name = "ADDRESS")]
    from: String,
    /// Take every step of a delivery but the last: RSET in place of DATA.
    #[arg(long)]
    test_mode: bool,
    /// Send the message.
    #[arg(long)]
    really_send: bool,
    /// Check the list, the message and the options, and tell what would be done. No connection is opened.
    #[arg(long)]
    dry_run: bool,
    /// Allow UTF-8 in the message's header; hosts that do not offer SMTPUTF8 cannot take it.
    #[arg(long)]
    smtputf8: bool,
    /// Record the outcome of each recipient in this file, and skip recipients that have one.
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,

    /// Connections in all, and the most recipients that may be unacknowledged at any moment.
    #[arg(short, long, value_name = "N", value_parser = units::count, default_value = "100", help_heading = "Hosts")]
    connections: u64,
    /// Connections to one host. [default: 20; with a relay, --connections]
    #[arg(long, value_name = "N", value_parser = units::count, help_heading = "Hosts")]
    connections_per_host: Option<u64>,
    /// Recipients per transaction; with --really-send, no more than connections.
    #[arg(long, value_name = "N", value_parser = units::count, default_value = "50", help_heading = "Hosts")]
    recipients_per_transaction: u64,
    /// Transactions per connection.
    #[arg(long, value_name = "N", value_parser = units::count, default_value = "100", help_heading = "Hosts")]
    transactions_per_connection: u64,
    /// Query this DNS server instead of the system's.
    #[arg(long, value_name = "HOST:PORT", help_heading = "Hosts")]
    dns: Option<String>,
    /// Send all mail through this host, without DNS. smtps:// in front, or port 465, means TLS from the first byte.
    #[arg(long, value_name = "[smtps://]HOST:PORT", help_heading = "Hosts")]
    relay: Option<String>,
    /// The port of mail hosts found by DNS.
    #[arg(long, value_name = "PORT", default_value_t = 25, help_heading = "Hosts")]
    port: u16,
    /// TLS: auto (where offered, any certificate), require (with a certificate that is checked), off. [default: auto; require
    /// with --tls-ca, credentials or smtps://]
    #[arg(long, value_name = "POLICY", value_parser = tls, help_heading = "Hosts")]
    tls: Option<TlsPolicy>,
    /// Check certificates against the authorities in this PEM file, and not against the system's.
    #[arg(long, value_name = "FILE", help_heading = "Hosts")]
    tls_ca: Option<PathBuf>,
    /// Log in at the relay (AUTH PLAIN or LOGIN) with the line USER:PASSWORD in this file.
    #[arg(long, value_name = "FILE", help_heading = "Hosts")]
    auth_file: Option<PathBuf>,
    /// The same with the USER:PASSWORD in an environment variable.
    #[arg(long, value_name = "VARIABLE", help_heading = "Hosts")]
    auth_env: Option<String>,
    /// Send the credentials also without TLS, or to a relay whose certificate is not checked.
    #[arg(long, help_heading = "Hosts")]
    auth_insecure: bool,
    /// The name to send with EHLO. [default: this machine's]
    #[arg(long, value_name = "NAME", help_heading = "Hosts")]
    helo: Option<String>,

    /// Attempts after the first one, for failures that may be temporary.
    #[arg(long, value_name = "N", default_value_t = 4, help_heading = "Retries and limits")]
    retries: u8,
    /// The pause before the second attempt; it doubles with each.
    #[arg(long, value_name = "TIME", value_parser = units::duration, default_value = "5m", help_heading = "Retries and limits")]
    retry_delay: Nanos,
    /// A factor for the time limits of RFC 5321 (5 minutes for most replies).
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, help_heading = "Retries and limits")]
    timeout_scale: f64,
    /// Recipients in memory at once.
    #[arg(long, value_name = "N", value_parser = units::count, default_value = "250k", help_heading = "Retries and limits")]
    window: u64,

    /// Write the result as one JSON object; - is standard output, which then gets nothing else.
    #[arg(long, value_name = "PATH|-", help_heading = "Result")]
    json: Option<PathBuf>,
}

fn tls(word: &str) -> Result<TlsPolicy, String> {
    match word {
        "auto" => Ok(TlsPolicy::Auto),
        "require" => Ok(TlsPolicy::Require),
        "off" => Ok(TlsPolicy::Off),
        _ => Err(format!("`{word}` is not auto, require or off")),
    }
}

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
                "ask for fewer with -c, or raise the limit with ulimit -Hn",
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
                    "with --journal FILE the next run could continue from here"
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
                "correct them, or let a run leave them out and exit with 1",
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
            tls: self.tls,
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
