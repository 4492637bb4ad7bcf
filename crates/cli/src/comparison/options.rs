//! Options of a comparison without a plan.

use clap::Args;

/// The options that describe a comparison of servers.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "A comparison without a plan")]
pub(crate) struct Comparison {
    /// A server to measure; may be repeated. A command with {address} (or {port}), run in this directory: './app {address}'. Or a
    /// target, such as nginx (`pitot list targets`). Or a server of Pitot: loop+epoll-et. NAME=... names it in the report.
    #[arg(long = "server", id = "server", value_name = "SERVER")]
    pub(crate) servers: Vec<String>,
    #[command(flatten)]
    pub(crate) measured: Measured,
    /// A server that never changes, measured beside the others: runs are compared with each other by the ratio to it.
    #[arg(long, value_name = "SERVER")]
    pub(crate) reference: Option<String>,
    /// The metric that decides (`pitot list metrics`). [default: throughput; latency-p99 with -R]
    #[arg(long, value_name = "METRIC")]
    pub(crate) metric: Option<String>,
    /// The tolerance: smaller differences do not count. [default: 5%]
    #[arg(long, value_name = "SHARE")]
    pub(crate) tolerance: Option<String>,
    /// The server to compare the others with. [default: the first]
    #[arg(long, value_name = "SERVER")]
    pub(crate) baseline: Option<String>,
    /// Measure one server after the other, in fresh runs of this length. [default: all side by side in slices, less than a minute in
    /// total]
    #[arg(short, long, value_name = "TIME")]
    pub(crate) duration: Option<String>,
}

/// How servers are loaded, and what decides.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Measured {
    /// The URL to load; {address} is the address of each server. With https:// nginx and the servers of Pitot use a certificate of
    /// Pitot, and the load accepts any. [default: http://{address}/]
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Connections of the load; 16,256 measures both numbers. [default: 64]
    #[arg(short, long, value_name = "N,...")]
    pub(super) connections: Option<String>,
    /// Total rate in requests per second. [default: each connection sends its next request after the last reply]
    #[arg(short = 'R', long, value_name = "RATE")]
    pub(super) rate: Option<String>,
    /// Threads of the load generator. [default: 1]
    #[arg(short, long, value_name = "N")]
    pub(super) threads: Option<u32>,
    /// Another option of `pitot load`; may be repeated: header='Accept: text/html'.
    #[arg(long = "load-option", value_name = "NAME=VALUE")]
    pub(super) load_options: Vec<String>,
    /// Statuses that count as success: 200,204 or 2xx. [default: all below 400, without redirects if another server does not redirect]
    #[arg(long, value_name = "LIST")]
    pub(super) expect_status: Option<String>,
    /// Whether all servers must send replies of the same size: alike, or may-differ, for example to compare compression.
    /// [default: alike]
    #[arg(long, value_name = "RULE")]
    pub(super) replies: Option<String>,
    /// Load each fresh server for this time before measuring. [default: 150ms; with --duration 200ms]
    #[arg(long, value_name = "TIME")]
    pub(super) warmup: Option<String>,
    /// Time for a server to become ready. [default: 10s]
    #[arg(long, value_name = "TIME")]
    pub(super) ready_timeout: Option<String>,
    /// Directory that targets and servers of Pitot serve. [default: one file of 1 KiB at the path of the URL]
    #[arg(long, value_name = "DIR")]
    pub(super) root: Option<std::path::PathBuf>,
}

impl Measured {
    /// The options of these that are given.
    pub(crate) fn given(&self) -> Vec<&'static str> {
        let Measured {
            url,
            connections,
            rate,
            threads,
            load_options,
            expect_status,
            replies,
            warmup,
            ready_timeout,
            root,
        } = self;
        let given = [
            ("--url", url.is_some()),
            ("--connections", connections.is_some()),
            ("--rate", rate.is_some()),
            ("--threads", threads.is_some()),
            ("--load-option", !load_options.is_empty()),
            ("--expect-status", expect_status.is_some()),
            ("--replies", replies.is_some()),
            ("--warmup", warmup.is_some()),
            ("--ready-timeout", ready_timeout.is_some()),
            ("--root", root.is_some()),
        ];
        given.into_iter().filter(|(_, given)| *given).map(|(option, _)| option).collect()
    }
}

/// The directory of the plan.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Folder<'a> {
    /// The directory in which the commands run: `{plan}`.
    Here,
    /// Another; this is the path of that in which the commands run.
    Elsewhere(&'a str),
}
