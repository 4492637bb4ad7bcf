use clap::Args;

/// The options that describe a comparison.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "A comparison without a plan")]
pub(crate) struct Comparison {
    /// A server to measure; give the option once for each. A command with {address} (or {port}), which runs in this
    /// directory: './app {address}'. Or a target, such as nginx (`pitot list targets`). Or a server of Pitot:
    /// loop+epoll-et. NAME=... gives it another name in the report.
    #[arg(long = "server", id = "server", value_name = "SERVER")]
    pub(super) servers: Vec<String>,
    /// What each server is asked for, {address} being its own. With https:// nginx and the servers of Pitot have a
    /// certificate that comes with Pitot, and the load takes any. [default: http://{address}/]
    #[arg(long, value_name = "URL")]
    pub(super) url: Option<String>,
    /// Connections of the load; several numbers, 16,256, are measured one by one. [default: 64]
    #[arg(short, long, value_name = "N,...")]
    pub(super) connections: Option<String>,
    /// Total rate in requests per second; without one each connection sends its next request after the last reply.
    #[arg(short = 'R', long, value_name = "RATE")]
    pub(super) rate: Option<String>,
    /// Threads of the load generator. [default: 1]
    #[arg(short, long, value_name = "N")]
    pub(super) threads: Option<u32>,
    /// Another option of `pitot load`; may be given several times: header='Accept: text/html'.
    #[arg(long = "load-option", value_name = "NAME=VALUE")]
    pub(super) load_options: Vec<String>,
    /// Statuses that count as success: 200,204 or 2xx. [default: all below 400, and no redirect where another server answers]
    #[arg(long, value_name = "LIST")]
    pub(super) expect_status: Option<String>,
    /// Whether replies must be of the same size, whoever sends them: alike or may-differ, as where compression is compared.
    /// [default: alike]
    #[arg(long, value_name = "RULE")]
    pub(super) replies: Option<String>,
    /// Load each fresh server so long before it is measured. [default: 150ms; with --duration 200ms]
    #[arg(long, value_name = "TIME")]
    pub(super) warmup: Option<String>,
    /// How long a server may take until it is ready. [default: 10s]
    #[arg(long, value_name = "TIME")]
    pub(super) ready_timeout: Option<String>,
    /// The files that targets and the servers of Pitot serve. [default: one of 1 KiB, where the URL says]
    #[arg(long, value_name = "DIR")]
    pub(super) root: Option<std::path::PathBuf>,
    /// The metric that decides (`pitot list metrics`). [default: throughput; latency-p99 with -R]
    #[arg(long, value_name = "METRIC")]
    pub(super) metric: Option<String>,
    /// The server that the others are compared with. [default: the first]
    #[arg(long, value_name = "SERVER")]
    pub(super) baseline: Option<String>,
    /// Smaller differences do not count. [default: 5%]
    #[arg(long, value_name = "SHARE")]
    pub(super) tolerance: Option<String>,
    /// Measure one server after the other, in fresh runs of this length. [default: all side by side, in slices that take
    /// less than a minute together]
    #[arg(short, long, value_name = "TIME")]
    pub(super) duration: Option<String>,
}

/// Where the plan is thought to stand.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Folder<'a> {
    /// In the directory in which the commands are to run, so that `{plan}` leads there.
    Here,
    /// Elsewhere; this is the path of that directory.
    Elsewhere(&'a str),
}
