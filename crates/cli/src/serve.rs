//! `pitot serve`.

use std::ffi::OsString;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use pitot_meter::{Nanos, units};
use pitot_proto::{ConnectionLimits, PROTOCOLS, ProtocolOptions};
use pitot_results::Failure;
use pitot_results::serve::{Bytes, ConnectionCounts, MailCounts, SCHEMA, ServeResult};
use pitot_serve::{Count, Kind, Limits, MECHANISMS, MODELS, ServePlan, Summary};

use crate::failure::nearest;
use crate::serve_disk::DiskArgs;
use crate::serve_dns::{self, DnsArgs};
use crate::serve_memcache::MemcacheArgs;
use crate::serve_options::Given;
use crate::serve_smtp::SmtpArgs;
use crate::value::{self, Cpus};

/// Default of `--keep-files`: below this size a copy is cheaper than sendfile(2) ...
const KEEP_FILES_BYTES: u64 = 16 << 10;
/// ... and with io_uring, which copies as well, the size of one read.
const KEEP_FILES_BYTES_RING: u64 = 64 << 10;

/// Serve a protocol with a concurrency model and an event mechanism.
///
/// Prints `ready ADDRESS:PORT` once connections are accepted, and serves until SIGINT, SIGTERM or SIGHUP; then it stops
/// accepting and finishes the requests in flight. `pitot list` shows the values of PROTOCOL, MODEL and MECHANISM.
#[derive(Clone, Debug, Args)]
pub(crate) struct Serve {
    /// The protocol: busy, echo, blob, http, memcache, smtp; or dns, which has an architecture of its own.
    protocol: String,
    /// The address to listen on; port 0 takes a free port.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = value::listen, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// The concurrency model: fork, thread, pool, loop, loops ...
    #[arg(long, default_value = "loop")]
    model: String,
    /// How a worker waits for events: blocking, select, poll, epoll-et, uring ... [default: epoll-et, or blocking if the
    /// model supports nothing else]
    #[arg(long)]
    mechanism: Option<String>,
    /// Number of processes, threads or loops, depending on the model. [default: see `pitot list models`]
    #[arg(long, value_name = "N")]
    workers: Option<usize>,
    /// CPUs to run on, such as 0,2-3; with at least as many workers as CPUs, each worker runs on one. [default: all]
    #[arg(long, value_name = "LIST", value_parser = value::cpus)]
    cpus: Option<Cpus>,
    /// The directory whose files are served (http).
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Each worker caches the content of files up to this size in memory; 0 disables it. [default: 16KiB; 64KiB with
    /// --mechanism uring; 0 with --disk]
    #[arg(long, value_name = "SIZE", value_parser = units::size)]
    keep_files: Option<u64>,
    /// Allow clients to store files below the root (PUT).
    #[arg(long, requires = "root")]
    writable: bool,
    /// The largest file that PUT may store.
    #[arg(long, value_name = "SIZE", value_parser = units::size, default_value = "1GiB", requires = "writable")]
    upload_max: u64,
    #[command(flatten)]
    disk: DiskArgs,
    /// Length of the queue of established connections that are not yet accepted; the kernel limits it to
    /// net.core.somaxconn.
    #[arg(long, value_name = "N", value_parser = units::count, default_value = "4096")]
    backlog: u64,
    /// TCP congestion control: bbr, cubic, reno ... [default: the kernel's, net.ipv4.tcp_congestion_control]
    #[arg(long, value_name = "NAME")]
    congestion: Option<String>,
    /// Send the header of a response at once, instead of in one packet with the start of its file (MSG_MORE; like nginx
    /// without tcp_nopush).
    #[arg(long)]
    no_cork: bool,
    /// Limit on concurrent connections of all workers; further ones are closed at once. [default: no limit but that on
    /// file descriptors]
    #[arg(long, value_name = "N", value_parser = units::count)]
    max_connections: Option<u64>,
    /// Connections that a loop accepts per wake-up before it serves those that are ready.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    accepts_per_wakeup: u32,
    /// Timeout for receiving the header of a request, from its first byte to its last; under prefork and pool at most 5s
    /// while others wait.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "30s")]
    header_timeout: Nanos,
    /// Timeout for idle connections between requests; under prefork and pool at most 1s while others wait.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "75s")]
    idle_timeout: Nanos,
    /// Timeout between two successful sends of a reply, or receives of a body.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "60s")]
    write_timeout: Nanos,
    /// Time for requests in flight to finish when the server is stopped.
    #[arg(long, value_name = "TIME", value_parser = units::duration, default_value = "10s")]
    grace: Nanos,
    /// Replies buffered per connection for a slow client before its further requests are held back.
    #[arg(long, value_name = "SIZE", value_parser = units::size, default_value = "256KiB")]
    outbox: u64,
    /// CPU time to spend on each reply in addition, to make the server slower by a known amount.
    #[arg(long, value_name = "TIME", value_parser = units::duration, default_value = "0ns")]
    burn: Nanos,
    /// Print the server's counters on exit, as one JSON object on the last line of stdout.
    #[arg(long, value_name = "FORMAT")]
    stats: Option<Stats>,
    #[command(flatten)]
    memcache: MemcacheArgs,
    #[command(flatten)]
    smtp: SmtpArgs,
    #[command(flatten)]
    dns: DnsArgs,
}

/// Serve the connection on standard input, as a child of the model `spawn`.
#[derive(Debug, Args)]
pub(crate) struct ServeConnection {
    #[command(flatten)]
    serve: Serve,
    /// File descriptor of the shared counters.
    counters: u32,
    /// Process ID of the server; this process ends with it.
    parent: u32,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Stats {
    Json,
}

/// Parses a timeout, which must not be zero.
fn time(text: &str) -> Result<Nanos, String> {
    match units::duration(text) {
        Ok(Nanos::ZERO) => Err("a timeout must be greater than 0".into()),
        other => other.map_err(|e| e.to_string()),
    }
}

impl Serve {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        // The command line has been parsed, so that it can be parsed again.
        let given = Given::of(std::env::args_os().skip(1));
        let known = pitot_proto::find(&self.protocol).is_some() || self.protocol == serve_dns::NAME;
        if let Some(given) = given.as_ref().filter(|_| known) {
            given.check_protocol(&self.protocol)?;
        }
        if self.protocol == serve_dns::NAME {
            return self.dns.run(self.listen, self.workers, self.stats.is_some());
        }
        let plan = self.plan()?;
        if let Some(given) = given {
            given.check_use(plan.root.is_some(), plan.model, plan.mechanism)?;
        }
        let summary = pitot_serve::run(&plan, |addr| {
            if let Some(at_once) = plan.connections_at_once() {
                eprintln!(
                    "pitot: connections are served {at_once} at a time under --model {}; others wait until one ends, \
                     is idle for 1s or takes 5s over the head of a request",
                    plan.model.name
                );
            }
            // stdout may be closed; the server runs all the same.
            let _ = writeln!(io::stdout(), "ready {addr}");
        })?;
        if let Some(Stats::Json) = self.stats {
            // stdout may be closed.
            let _ = serde_json::to_writer(io::stdout(), &result(&plan, &summary));
            let _ = writeln!(io::stdout());
        }
        Ok(ExitCode::SUCCESS)
    }

    fn plan(&self) -> Result<ServePlan, Failure> {
        if self.max_connections == Some(0) {
            return Err(Failure::misuse(
                "--max-connections 0 leaves no connection to serve",
                "give 1 or more, or leave it out",
            ));
        }
        if self.upload_max == 0 {
            return Err(Failure::misuse(
                "--upload-max 0 leaves no file to take",
                "give a size, or leave --writable out",
            ));
        }
        let protocol = pitot_proto::find(&self.protocol).ok_or_else(|| {
            unknown(
                "protocol",
                &self.protocol,
                "protocols",
                PROTOCOLS.iter().map(|p| p.name).chain([serve_dns::NAME]),
            )
        })?;
        let model = pitot_serve::find_model(&self.model)
            .ok_or_else(|| unknown("model", &self.model, "models", MODELS.iter().map(|m| m.name)))?;
        let mechanism = match &self.mechanism {
            Some(name) => pitot_serve::find_mechanism(name)
                .ok_or_else(|| unknown("mechanism", name, "mechanisms", MECHANISMS.iter().map(|m| m.name)))?,
            None => pitot_serve::default_mechanism(model).ok_or_else(|| {
                Failure::misuse("the model has no default mechanism", "choose one with --mechanism")
            })?,
        };
        if self.root.is_some() && !protocol.files {
            return Err(Failure::misuse(
                format!("protocol {} serves no files", protocol.name),
                "omit --root, or serve http",
            ));
        }
        let disk = self.disk.plan()?;
        if disk.is_some() && self.root.is_none() {
            return Err(Failure::misuse(
                "--disk needs files to serve",
                "give the directory to serve with --root, or omit --disk",
            ));
        }
        if disk.is_some() && self.keep_files.is_some_and(|size| size > 0) {
            return Err(Failure::misuse(
                "--keep-files and --disk exclude each other: cached files are read by the worker, not by the engine",
                "omit --keep-files or --disk",
            ));
        }
        Ok(ServePlan {
            protocol,
            protocol_options: ProtocolOptions {
                root: self.root.is_some(),
                writable: self.writable,
                upload_bytes_max: self.upload_max,
                memcache: self.memcache.options(),
                smtp: self.smtp.options()?,
                ..ProtocolOptions::default()
            },
            model,
            mechanism,
            listen: self.listen,
            backlog: u32::try_from(self.backlog).unwrap_or(u32::MAX),
            congestion: self.congestion.clone(),
            cork: !self.no_cork,
            workers: self.workers,
            cpus: self.cpus.clone().unwrap_or_default().0,
            root: self.root.clone(),
            content_bytes_max: self.keep_files.unwrap_or(match mechanism.kind {
                _ if disk.is_some() => 0,
                Kind::Completion { .. } => KEEP_FILES_BYTES_RING,
                Kind::Blocking | Kind::Readiness { .. } => KEEP_FILES_BYTES,
            }),
            disk,
            links: self.disk.links(model)?,
            maildir: self.smtp.maildir()?,
            limits: Limits {
                connection: ConnectionLimits {
                    header_timeout: self.header_timeout.into(),
                    idle_timeout: self.idle_timeout.into(),
                    write_timeout: self.write_timeout.into(),
                    outbox_bytes: self.outbox,
                    ..ConnectionLimits::default()
                },
                grace: self.grace.into(),
                connections_max: self.max_connections.unwrap_or(u64::MAX),
                accepts_per_wakeup: self.accepts_per_wakeup,
                burn: self.burn.into(),
            },
            connection_command: connection_command()?,
        })
    }
}

impl ServeConnection {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let plan = self.serve.plan()?;
        pitot_serve::serve_standard_input(&plan, self.counters, self.parent)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The command that starts a child which serves one connection: this command line with another subcommand.
fn connection_command() -> Result<Vec<OsString>, Failure> {
    let program = std::env::current_exe().map_err(|e| {
        Failure::run(format!("cannot find the program's own executable: {e}"), "is /proc mounted?")
    })?;
    let mut command = vec![program.into(), "serve-connection".into()];
    command.extend(std::env::args_os().skip(2));
    Ok(command)
}

fn unknown<'a>(kind: &str, word: &str, list: &str, names: impl Iterator<Item = &'a str>) -> Failure {
    let hint = nearest(word, names);
    Failure::misuse(format!("unknown {kind} `{word}`{hint}"), format!("`pitot list {list}` shows all"))
}

/// Counts with fields of their own in the result; all others are errors.
const NO_ERRORS: [Count; 8] = [
    Count::Accepted,
    Count::Closed,
    Count::Requests,
    Count::BytesReceived,
    Count::BytesSent,
    Count::RecipientsAccepted,
    Count::Messages,
    Count::Recipients,
];

fn result(plan: &ServePlan, summary: &Summary) -> ServeResult {
    let name = |count: Count| Count::ALL.into_iter().find(|(c, _)| *c == count).map_or("", |(_, name)| name);
    let count = |count: Count| {
        let name = name(count);
        summary.counts.iter().find(|(n, _)| *n == name).map_or(0, |(_, count)| *count)
    };
    let no_errors = NO_ERRORS.map(name);
    let errors = summary.counts.iter().filter(|(name, _)| !no_errors.contains(name));
    ServeResult {
        schema: SCHEMA.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        protocol: plan.protocol.name.into(),
        model: plan.model.name.into(),
        mechanism: plan.mechanism.name.into(),
        disk: plan.engine().map(|disk| disk.engine.name.into()),
        workers: plan.workers() as u64,
        duration_s: summary.duration.as_secs_f64(),
        connections: ConnectionCounts {
            accepted: count(Count::Accepted),
            closed: count(Count::Closed),
            open: summary.open,
            open_peak: summary.open_peak,
        },
        requests: count(Count::Requests),
        bytes: Bytes { received: count(Count::BytesReceived), sent: count(Count::BytesSent) },
        mail: MailCounts {
            recipients_accepted: count(Count::RecipientsAccepted),
            messages: count(Count::Messages),
            recipients: count(Count::Recipients),
        },
        errors: errors.map(|(name, count)| ((*name).to_owned(), *count)).collect(),
        cpu_user_s: summary.cpu_user.as_secs_f64(),
        cpu_system_s: summary.cpu_system.as_secs_f64(),
        rss_peak_bytes: summary.rss_peak_bytes,
        worker_rss_peak_bytes: summary.worker_rss_peak_bytes,
        forced: summary.forced,
    }
}
