//! The options of `pitot load`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use pitot_client::CLIENTS;
use pitot_load::{ENGINES, Options, PACES, PaceOptions, Share, ThinkTimes, WorkerSpec, WorkloadOptions};
use pitot_meter::{Nanos, units};
use pitot_requests::{FORMATS, SessionOptions};

use super::content::Content;
use super::reach::Reach;
use super::repeats::Repeats;
use super::tls::Tls;
use super::visit::Visit;
use crate::choice::one_of;
use crate::load_urls;
use crate::value::{self, Cpus};

/// Load a server and measure its response times.
///
/// Connections, requests and rates are totals of all threads and processes. Response time is measured from the moment at which
/// a request was due, service time from the moment at which it was sent. They differ under a pace that does not wait for the
/// server (-R); both are reported.
#[derive(Debug, Args)]
#[command(after_long_help = load_urls::help())]
pub(crate) struct Load {
    #[arg(help = target_help(), required_unless_present_any = ["hold", "from"])]
    pub(super) url: Option<String>,

    /// Hold connections open, and send requests on commands from standard input: open NAME URL OPTIONS,
    /// run NAME TIME, close NAME, quit. Each command is answered by one line of JSON. See docs/held-load.md.
    #[arg(long, help_heading = "Result")]
    pub(super) hold: bool,

    /// Total number of active connections, or of users with --browser; 0 for idle ones only.
    #[arg(short, long, visible_alias = "users", value_name = "N", value_parser = units::count, default_value = "10", help_heading = "Load")]
    pub(super) connections: u64,
    /// Length of the measured part of the run. [default: 10s, or until the last request if -n is given]
    #[arg(short, long, value_name = "TIME", value_parser = units::duration, help_heading = "Load")]
    pub(super) duration: Option<Nanos>,
    /// Total number of requests after the warm-up; the run ends with the last of them. Without -d it also ends when requests fail and
    /// nothing is answered for 10s, or twice --timeout if that is longer.
    #[arg(short = 'n', long, value_name = "N", value_parser = units::count, help_heading = "Load")]
    pub(super) requests_total: Option<u64>,
    /// Total rate in requests per second; without one each connection sends its next request after the last reply.
    #[arg(short = 'R', long, value_name = "RATE", value_parser = units::rate, help_heading = "Load")]
    pub(super) rate: Option<f64>,
    #[arg(long, value_name = "PACE", help = pace_help(), help_heading = "Load")]
    pub(super) pace: Option<String>,
    /// Time to run with the same load before the measured part.
    #[arg(long, value_name = "TIME", value_parser = units::duration, default_value = "0s", help_heading = "Load")]
    pub(super) warmup: Nanos,
    /// How long to wait for a connection to open and for a reply; with a rate also how long a request waits for a free
    /// connection before it counts as missed. Opening the connections takes at most twice as long, and 1ms for each; then the run begins with
    /// those that are open.
    #[arg(long, value_name = "TIME", value_parser = units::duration, default_value = "5s", help_heading = "Load")]
    pub(super) timeout: Nanos,
    /// The longest pause before a failed connection is reopened; pauses begin at 10ms and double.
    #[arg(long, value_name = "TIME", value_parser = units::duration, default_value = "1s", help_heading = "Load")]
    pub(super) back_off: Nanos,
    /// Pause between a reply and the next request on the same connection.
    #[arg(long, value_name = "TIME", value_parser = units::duration, help_heading = "Load")]
    pub(super) think: Option<Nanos>,
    /// How think times vary around --think, and around those of sessions: constant, uniform (from half of it to one and a
    /// half) or exponential. [default: constant]
    #[arg(long, value_name = "WORD", value_parser = one_of(ThinkTimes::WORDS), hide_possible_values = true, help_heading = "Load")]
    pub(super) think_times: Option<ThinkTimes>,
    /// Rates that change in linear ramps: 0:1000rps:30s,1000:5000rps:1m
    #[arg(long, value_name = "FROM:TO:TIME,...", help_heading = "Load")]
    pub(super) stages: Option<String>,
    /// Find the highest rate that meets conditions: 'p99 < 5ms, errors < 0.1%'
    #[arg(long, value_name = "CONDITIONS", help_heading = "Load")]
    pub(super) search: Option<String>,
    /// Seed of all random choices; the same seed gives the same arrivals.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Load")]
    pub(super) seed: u64,

    /// Requests in flight on each connection.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Connections")]
    pub(super) pipeline: u16,
    /// Version of HTTP: 1.1 or 2. With http:// a connection speaks version 2 from its first byte (prior knowledge), with https:// it asks by ALPN. [default: 1.1]
    #[arg(long, value_name = "VERSION", help_heading = "Connections")]
    pub(super) http: Option<String>,
    /// Concurrent HTTP/2 streams on each connection, at most as many as the server allows. With --cookies each is a user with
    /// cookies of its own. [default: 1; 100 with --browser]
    #[arg(long, value_name = "N", help_heading = "Connections")]
    pub(super) streams: Option<u16>,
    /// Close a connection after N requests and open another.
    #[arg(long, value_name = "N", value_parser = units::count, help_heading = "Connections")]
    pub(super) requests_per_connection: Option<u64>,
    /// Total number of connections to close and reopen per second.
    #[arg(long, value_name = "RATE", value_parser = units::rate, help_heading = "Connections")]
    pub(super) churn: Option<f64>,
    /// Open all connections at once and measure the time until they are established; no requests are sent.
    #[arg(long, help_heading = "Connections")]
    pub(super) storm: bool,
    /// Idle connections in addition to the active ones.
    #[arg(long, value_name = "N", value_parser = units::count, default_value = "0", help_heading = "Connections")]
    pub(super) idle: u64,
    /// Send a request every TIME on each idle connection, counted separately.
    #[arg(long, value_name = "TIME", value_parser = units::duration, help_heading = "Connections")]
    pub(super) idle_trickle: Option<Nanos>,
    /// Run users (-c) as browsers do: each gets a page and what is embedded in it from the same host, over at most CONNECTIONS
    /// connections of its own, 6 by default, or with --http 2 on the --streams of one; then the next page. -n and -R count
    /// pages. See docs/browser.md.
    #[arg(long, value_name = "CONNECTIONS", value_parser = units::count, num_args = 0..=1, require_equals = true,
          default_missing_value = "6", help_heading = "Connections")]
    pub(super) browser: Option<u64>,
    /// With --browser: users keep what was embedded in earlier pages.
    #[arg(long, requires = "browser", help_heading = "Connections")]
    pub(super) browser_cache: bool,
    /// With --browser: a number of users that changes in linear ramps, instead of -c: 1:100:30s,100:100:1m
    #[arg(long, value_name = "FROM:TO:TIME,...", requires = "browser", help_heading = "Connections")]
    pub(super) user_stages: Option<String>,
    /// Local addresses to connect from, in turn: 127.0.0.0/28
    #[arg(long, value_name = "CIDR", help_heading = "Connections")]
    pub(super) source: Option<String>,
    /// Give each connection, and each user of --browser, one of these addresses to itself, also when it reconnects.
    #[arg(long, requires = "source", help_heading = "Connections")]
    pub(super) source_per_user: bool,
    #[command(flatten)]
    pub(super) reach: Reach,

    #[command(flatten)]
    pub(super) tls: Tls,

    /// Method of the requests. [default: GET, or POST if there is a body]
    #[arg(short = 'X', visible_short_alias = 'm', long, value_name = "METHOD", help_heading = "Requests")]
    pub(super) method: Option<String>,
    /// Header to add, as 'Name: value'; may be repeated.
    #[arg(short = 'H', long = "header", value_name = "HEADER", help_heading = "Requests")]
    pub(super) headers: Vec<String>,
    /// Body of the requests, or @FILE to read it from a file.
    #[arg(long, value_name = "TEXT|@FILE", help_heading = "Requests")]
    pub(super) body: Option<String>,
    #[command(flatten)]
    pub(super) content: Content,
    /// Path to request instead of the URL's, optionally with a weight: /a=3; may be repeated. A range stands
    /// for a set of paths, as it does in the URL: /files/{0..9999}; {rand:1..100} and {seq:1} are numbers of each request
    #[arg(long = "path", value_name = "PATH[=WEIGHT]", help_heading = "Requests")]
    pub(super) paths: Vec<String>,
    #[arg(long, value_name = "FILE|-", help = requests_help(), help_heading = "Requests")]
    pub(super) requests: Option<PathBuf>,
    #[arg(long, value_name = "FORMAT", help = requests_format_help(), help_heading = "Requests")]
    pub(super) requests_format: Option<String>,
    /// N1 sessions of N2 requests with X seconds between bursts, as in httperf: 100,10,0.5
    #[arg(long, value_name = "N1,N2,X", help_heading = "Requests")]
    pub(super) wsess: Option<String>,
    /// Requests of a burst of --wsess; its first goes alone, the others together after the reply to that. [default: 1]
    #[arg(long, value_name = "N", value_parser = units::count, help_heading = "Requests")]
    pub(super) burst_length: Option<u64>,
    /// N of the sessions in FILE, in turn, with X seconds between bursts, in the format of httperf.
    #[arg(long, value_name = "N,X,FILE", help_heading = "Requests")]
    pub(super) wsesslog: Option<String>,
    /// Requests for the URIs in FILE, separated by NUL: each once (n) or repeatedly (y), as in httperf.
    #[arg(long, value_name = "y|n,FILE", help_heading = "Requests")]
    pub(super) wlog: Option<String>,
    /// Connection of a session: a new one, or that of the session before it. [default: new; keep for a script of SQL]
    #[arg(long, value_name = "new|keep", value_parser = ["new", "keep"], help_heading = "Requests")]
    pub(super) session_connection: Option<String>,
    /// Access log of nginx or Apache whose requests are sent at its own times, from the first line on.
    #[arg(long, value_name = "FILE|-", help_heading = "Requests")]
    pub(super) replay: Option<PathBuf>,
    /// Speed of the replay of a log: 2x, 0.5x [default: 1x]
    #[arg(long, value_name = "FACTOR", value_parser = speed, help_heading = "Requests")]
    pub(super) speed: Option<f64>,
    /// How to choose among several requests: turn, uniform (by weight), or zipf:S (the nth of the set n^S times less
    /// often than the first, S 0.99 by default). [default: uniform; turn with --requests]
    #[arg(long, value_name = "CHOICE", help_heading = "Requests")]
    pub(super) choice: Option<String>,
    #[command(flatten)]
    pub(super) visit: Visit,
    /// Statuses that count as success: 200,204 or 2xx. [default: all below 400]
    #[arg(long, value_name = "LIST", help_heading = "Requests")]
    pub(super) expect_status: Option<String>,
    /// File with the content that every reply must have.
    #[arg(long, value_name = "FILE", help_heading = "Requests")]
    pub(super) expect_body: Option<PathBuf>,
    /// Compare generated content byte by byte; `pitot list schemes` shows which protocols have some.
    #[arg(long, help_heading = "Requests")]
    pub(super) verify: bool,
    /// Give each request a unique name, for {request-id} in the path of an upload or as the Message-ID of a mail, and list in the JSON
    /// result those that the server has acknowledged, so that it can be checked whether it still has them. With --intervals each
    /// line lists those of its interval, and the result none.
    #[arg(long, help_heading = "Requests")]
    pub(super) durability: bool,

    /// Threads of each process, each with its own event loop and connections; with --processes auto those of all processes, at
    /// least one of each. [default: 1]
    #[arg(short, long, value_name = "N", value_parser = units::count, help_heading = "Machine")]
    pub(super) threads: Option<u64>,
    /// Number of processes, or auto for as many as the limit on descriptors requires.
    #[arg(long, value_name = "N|auto", value_parser = processes, default_value = "auto", help_heading = "Machine")]
    pub(super) processes: ProcessCount,
    /// CPUs to pin the threads to, in turn: 0,2-3
    #[arg(long, value_name = "LIST", value_parser = value::cpus, help_heading = "Machine")]
    pub(super) cpus: Option<Cpus>,
    #[arg(long, value_name = "ENGINE", help = engine_help(), help_heading = "Machine")]
    pub(super) engine: Option<String>,
    /// Give up, by Landlock, opening files and executing programs before the first reply is read (docs/security.md). For one
    /// process.
    #[arg(long, help_heading = "Machine")]
    pub(super) confine: bool,

    /// Stop the run with exit code 1 as soon as one of the conditions holds; checked every second: 'errors > 1%'.
    /// Takes a list, as --fail-if does; may be repeated.
    #[arg(long, value_name = "CONDITIONS", help_heading = "Result")]
    pub(super) abort_on: Vec<String>,
    /// Exit with code 1 if one of the conditions holds at the end of the run: 'p95 > 5ms, errors > 0.1%'. Figures are min,
    /// any percentile, max, mean, errors, missed, rate and 'status 5xx' (or 503, or 500-503); those of times may be of 'first-byte'
    /// (from sending a request to the first byte of its reply), 'gap' (between the pieces of a reply), 'connect', 'handshake' (full TLS
    /// handshakes), 'resumption' (resumed ones) or 'page' (--browser): 'handshake p99 > 50ms'. Percentages of errors are of the requests
    /// that were due or begun, those of a status of the replies. May be repeated.
    #[arg(long, value_name = "CONDITIONS", help_heading = "Result")]
    pub(super) fail_if: Vec<String>,
    /// Also print the number of samples behind each percentile, the distribution of response times, and connection counts.
    #[arg(short = 'L', long, help_heading = "Result")]
    pub(super) latency: bool,
    /// Also print the run second by second: replies, errors, missed arrivals, open connections and response times.
    #[arg(long, help_heading = "Result")]
    pub(super) timeline: bool,
    /// Also count correct replies and errors in steps of this length, 1ms to 1s and a whole number of them a second, in the JSON or
    /// the lines of --intervals (steps). The first begins at the NS of the line `measured from NS` on standard error
    /// (CLOCK_MONOTONIC, nanoseconds).
    #[arg(long, value_name = "TIME", value_parser = units::duration, help_heading = "Result")]
    pub(super) steps: Option<Nanos>,
    /// Write the result as one JSON object; with - to standard output and nothing else there.
    #[arg(long, value_name = "PATH|-", help_heading = "Result")]
    pub(super) json: Option<PathBuf>,
    /// Write one line per second of the run as CSV; with - to standard output and nothing else there.
    #[arg(long, value_name = "PATH|-", help_heading = "Result")]
    pub(super) csv: Option<PathBuf>,
    /// Print a line of JSON to standard output for every TIME of the run, and nothing else there: counts, errors by kind, and the
    /// histogram of response times. Seconds are not kept, so that a run of days needs no more memory than one of minutes, and the
    /// result has no series. The run also begins if no connection can be opened yet.
    #[arg(long, value_name = "TIME", value_parser = value::whole_seconds, conflicts_with_all = ["csv", "timeline"], help_heading = "Result")]
    pub(super) intervals: Option<u64>,
    /// If standard error is no terminal, print a line about the run there every TIME, whole seconds; 0s for none.
    /// [default: 10s, and 0s if standard output holds data]
    #[arg(long, value_name = "TIME", value_parser = whole_seconds_or_none, help_heading = "Result")]
    pub(super) progress: Option<u64>,
    /// Keep secrets in the JSON. Otherwise the passwords of URLs and --basic-auth, and the values of headers, fields of
    /// forms and parameters of queries about authorization, cookies, sessions, tokens, keys and passwords are written as ***.
    #[arg(long, help_heading = "Result")]
    pub(super) keep_secrets: bool,
    /// Repeat the run of a result of --json. A URL and options on this command line replace its own, or are added to them if they
    /// may be repeated; what is masked must be given again.
    #[arg(long, value_name = "RESULT", help_heading = "Result")]
    pub(super) from: Option<PathBuf>,
    #[arg(skip)]
    pub(super) repeats: Option<Box<Repeats>>,
    /// Write an HdrHistogram log: response times per second, all other latencies for the whole run.
    #[arg(long, value_name = "PATH", help_heading = "Result")]
    pub(super) hlog: Option<PathBuf>,

    /// While the load runs, answer scrapes of Prometheus at http://ADDRESS/metrics with OpenMetrics text: counts and response times
    /// up to the last whole second. Port 0 takes a free one; the address is printed to standard error. See docs/dashboards.md.
    #[arg(long, value_name = "ADDRESS", value_parser = value::listen, conflicts_with = "dry_run", help_heading = "Result")]
    pub(super) metrics: Option<SocketAddr>,

    /// Do one part of this load, such as 2/3, the second of three: connections, requests and rates are divided among the parts. It
    /// prints `ready` when its connections are open, and starts at the NS of the line `start NS` on standard input
    /// (CLOCK_MONOTONIC, nanoseconds). See docs/agent.md.
    #[arg(long, value_name = "PART/OF", value_parser = Share::parse, help_heading = "Machine")]
    pub(super) share: Option<Share>,

    /// Check the options and their files, and send nothing.
    #[arg(long, help_heading = "Result")]
    pub(super) dry_run: bool,

    /// Share of a worker process; for internal use.
    #[arg(long, hide = true, value_parser = WorkerSpec::parse)]
    pub(super) worker: Option<WorkerSpec>,
}

/// Number of processes; `None` is as many as needed.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProcessCount(pub(super) Option<u64>);

fn processes(text: &str) -> Result<ProcessCount, String> {
    match text {
        "auto" => Ok(ProcessCount(None)),
        number => units::count(number).map(|n| ProcessCount(Some(n))).map_err(|e| e.to_string()),
    }
}

fn speed(text: &str) -> Result<f64, String> {
    text.strip_suffix('x').unwrap_or(text).parse().map_err(|_| "write it like 2x or 0.5x".to_owned())
}

fn target_help() -> String {
    let examples: Vec<&str> = CLIENTS.iter().map(|c| c.example).collect();
    format!(
        "Target URL, such as {}. A path with a range, /files/{{0..9999}}, stands for a set of paths (see --choice); \
         {{rand:1..100}} in a path, header or body is a random number of each request, {{seq:1}} a counter; \
         options of \
         caches and mail follow a `?`, and --help lists them",
        examples.join(", ")
    )
}

fn pace_help() -> String {
    let names: Vec<&str> = PACES.iter().map(|p| p.name).collect();
    format!("When requests start: {} [default: implied by the other options]", names.join(", "))
}

fn requests_help() -> String {
    let formats: Vec<&str> = FORMATS.iter().map(|format| format.summary).collect();
    format!(
        "File of requests to send in turn, or - for standard input, in one of these formats, recognised by its content: {}. See \
         docs/requests.md",
        formats.join("; ")
    )
}

fn requests_format_help() -> String {
    let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    format!("Format of the file of --requests: {} [default: recognised by its content]", names.join(", "))
}

fn engine_help() -> String {
    let names: Vec<&str> = ENGINES.iter().map(|e| e.name).collect();
    format!("System calls of the event loop: {} [default: {}]", names.join(", "), names[0])
}

/// Whole seconds, or 0.
fn whole_seconds_or_none(text: &str) -> Result<u64, String> {
    match units::duration(text) {
        Ok(Nanos::ZERO) => Ok(0),
        _ => value::whole_seconds(text),
    }
}

impl Load {
    /// What the load is asked for.
    pub(super) fn options(&self) -> Options {
        Options {
            url: self.url.clone().unwrap_or_default(),
            workload: WorkloadOptions {
                connections: self.connections,
                requests_per_connection: self.requests_per_connection,
                churn: self.churn,
                storm: self.storm,
                browser: self.browser,
                browser_cache: self.browser_cache,
                user_stages: self.user_stages.clone(),
                idle: self.idle,
                idle_trickle: self.idle_trickle,
            },
            pace: self.pace.clone(),
            pacing: PaceOptions {
                rate: self.rate,
                think: self.think,
                stages: self.stages.clone(),
                search: self.search.clone(),
                recorded: None,
            },
            pipeline: self.pipeline,
            http: self.http.clone(),
            streams: self.streams,
            threads: self.threads,
            processes: if self.confine { Some(1) } else { self.processes.0 },
            cpus: self.cpus.clone().unwrap_or_default().0,
            duration: self.duration,
            requests: self.requests_total,
            warmup: self.warmup,
            timeout: self.timeout,
            back_off_max: self.back_off,
            engine: self.engine.clone(),
            source: self.source.clone(),
            source_per_user: self.source_per_user,
            tls: self.tls.options(),
            method: self.method.clone(),
            headers: self.headers.clone(),
            body: self.body.clone(),
            paths: self.paths.clone(),
            requests_file: self.requests.clone(),
            requests_format: self.requests_format.clone(),
            sessions: SessionOptions {
                wsess: self.wsess.clone(),
                burst_length: self.burst_length,
                wsesslog: self.wsesslog.clone(),
                wlog: self.wlog.clone(),
                keep_connection: self.session_connection.as_deref().map(|word| word == "keep"),
            },
            replay: self.replay.clone(),
            speed: self.speed,
            choice: self.choice.clone(),
            expect_status: self.expect_status.clone(),
            expect_body: self.expect_body.clone(),
            verify: self.verify,
            durability: self.durability,
            reach: self.reach.options(),
            content: self.content.options(),
            visit: self.visit.options(),
            keep_secrets: self.keep_secrets,
            think_times: self.think_times.unwrap_or_default(),
            seed: self.seed,
            abort_on: self.abort_on.clone(),
            fail_if: self.fail_if.clone(),
            step: self.steps,
            share: self.share.unwrap_or(Share::WHOLE),
        }
    }
}
