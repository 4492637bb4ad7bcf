//! The options as the user wrote them, before they are checked.

mod content;
mod reach;

use std::path::PathBuf;

use pitot_client::VisitOptions;
use pitot_client::tls::TlsOptions;
use pitot_meter::Nanos;
use pitot_requests::SessionOptions;

use pitot_drive::pace::PaceOptions;
use pitot_drive::share::Share;
use pitot_drive::think::ThinkTimes;
use pitot_drive::workload::WorkloadOptions;

pub use content::ContentOptions;
pub use reach::ReachOptions;

/// All options of a run. Counts and rates are totals, whatever the number of threads and processes.
#[derive(Clone, Debug)]
pub struct Options {
    /// The target.
    pub url: String,
    /// Connections and their life.
    pub workload: WorkloadOptions,
    /// The name of the pace; without one it follows from the options.
    pub pace: Option<String>,
    /// The pace's own options.
    pub pacing: PaceOptions,
    /// Requests under way on one connection.
    pub pipeline: u16,
    /// The version of HTTP: `1.1` or `2`; 1.1 if `None`.
    pub http: Option<String>,
    /// Streams of HTTP/2 in use at once on one connection; 1 if `None`.
    pub streams: Option<u16>,
    /// Threads of each process.
    pub threads: Option<u64>,
    /// Processes; `None` is as many as the limit on descriptors makes necessary.
    pub processes: Option<u64>,
    /// CPUs to pin the threads to, in turn; empty for none.
    pub cpus: Vec<usize>,
    /// Length of the measured part.
    pub duration: Option<Nanos>,
    /// Requests of the measured part after which the run ends.
    pub requests: Option<u64>,
    /// Time before the measured part.
    pub warmup: Nanos,
    /// How long to wait for a connection, for a reply, and in an open loop for a free connection.
    pub timeout: Nanos,
    /// The longest pause before a connection that failed is opened again; pauses begin at 10 ms and double.
    pub back_off_max: Nanos,
    /// The name of the engine.
    pub engine: Option<String>,
    /// Local addresses: `127.0.0.0/28`.
    pub source: Option<String>,
    /// Each user keeps one of them, which no other has.
    pub source_per_user: bool,
    /// TLS, where the scheme of the URL asks for it.
    pub tls: TlsOptions,
    /// `GET` and so on; if `None`, `GET` without a body and `POST` with one.
    pub method: Option<String>,
    /// `Name: value`.
    pub headers: Vec<String>,
    /// The body, or `@file`.
    pub body: Option<String>,
    /// `/path` or `/path=weight`, instead of the URL's path. A range, `/{0..99}`, stands for a set of paths; `{rand:1..100}` and
    /// `{seq:1}` are numbers of each request.
    pub paths: Vec<String>,
    /// A file of requests, or `-` for standard input.
    pub requests_file: Option<PathBuf>,
    /// The name of its [format](pitot_requests::FORMATS); if `None`, the one that its content shows.
    pub requests_format: Option<String>,
    /// Sessions, as httperf's options name them.
    pub sessions: SessionOptions,
    /// An access log whose requests are sent at its own times, in place of a file of requests.
    pub replay: Option<PathBuf>,
    /// How many seconds of that log go by in a second; one if `None`.
    pub speed: Option<f64>,
    /// How requests are chosen from several: `turn`, `uniform`, `zipf` or `zipf:0.99`; the default if `None`.
    pub choice: Option<String>,
    /// `200,301` or `2xx`.
    pub expect_status: Option<String>,
    /// A file with the content of every right reply.
    pub expect_body: Option<PathBuf>,
    /// Compare generated content.
    pub verify: bool,
    /// Give each request a name of its own, and say which were acknowledged.
    pub durability: bool,
    /// How the target is reached, where that is not by its name.
    pub reach: ReachOptions,
    /// Other bodies, credentials and the client's name.
    pub content: ContentOptions,
    /// Leave secrets in what the result says of the requests.
    pub keep_secrets: bool,
    /// Cookies and redirects.
    pub visit: VisitOptions,
    /// How think times vary, those of sessions too.
    pub think_times: ThinkTimes,
    /// What random choices depend on.
    pub seed: u64,
    /// Conditions that end the run early as failed.
    pub abort_on: Vec<String>,
    /// Conditions that make the result a failure.
    pub fail_if: Vec<String>,
    /// Also count right replies and errors in steps of this length.
    pub step: Option<Nanos>,
    /// The part of this load that is this run's own.
    pub share: Share,
}

impl Options {
    /// The defaults, for a target.
    pub fn new(url: impl Into<String>) -> Options {
        Options {
            url: url.into(),
            workload: WorkloadOptions { connections: 10, ..WorkloadOptions::default() },
            pace: None,
            pacing: PaceOptions::default(),
            pipeline: 1,
            http: None,
            streams: None,
            threads: None,
            processes: None,
            cpus: Vec::new(),
            duration: None,
            requests: None,
            warmup: Nanos::ZERO,
            timeout: Nanos::from_secs(5),
            back_off_max: Nanos::from_secs(1),
            engine: None,
            source: None,
            source_per_user: false,
            tls: TlsOptions::default(),
            method: None,
            headers: Vec::new(),
            body: None,
            paths: Vec::new(),
            requests_file: None,
            requests_format: None,
            sessions: SessionOptions::default(),
            replay: None,
            speed: None,
            choice: None,
            expect_status: None,
            expect_body: None,
            verify: false,
            durability: false,
            reach: ReachOptions::default(),
            content: ContentOptions::default(),
            keep_secrets: false,
            visit: VisitOptions::default(),
            think_times: ThinkTimes::default(),
            seed: 1,
            abort_on: Vec::new(),
            fail_if: Vec::new(),
            step: None,
            share: Share::WHOLE,
        }
    }
}
