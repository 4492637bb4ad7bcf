use pitot_meter::Nanos;

use super::lifecycle::Group;

/// The options about connections.
#[derive(Clone, Debug, Default)]
pub struct WorkloadOptions {
    /// Active connections in total (`-c`).
    pub connections: u64,
    /// Requests per connection, where limited (`--requests-per-connection`, or the protocol's own limit).
    pub requests_per_connection: Option<u64>,
    /// Connections closed and opened again per second (`--churn`).
    pub churn: Option<f64>,
    /// Open all connections at once and stop when they are established (`--storm`).
    pub storm: bool,
    /// Idle connections in addition to the active ones (`--idle`).
    pub idle: u64,
    /// `connections` are users, each with as many connections as this, who read pages as browsers do (`--browser`).
    pub browser: Option<u64>,
    /// Users who come and go, instead of a fixed number: `1:100:30s,100:100:1m` (`--user-stages`).
    pub user_stages: Option<String>,
    /// A user does not get again what it has got (`--browser-cache`).
    pub browser_cache: bool,
    /// The time between two requests of an idle connection (`--idle-trickle`).
    pub idle_trickle: Option<Nanos>,
}

/// One workload of the registry.
#[derive(Debug)]
pub struct WorkloadEntry {
    /// The name in results.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// A paragraph for help and docs.
    pub doc: &'static str,
    /// Which of a run's connections it describes.
    pub role: Role,
    /// Whether the options ask for it.
    pub requested: fn(&WorkloadOptions) -> bool,
    /// How many connections it has, and their life; or one line on what is wrong with the options.
    pub group: fn(&WorkloadOptions) -> Result<Group, String>,
}

/// Which of a run's connections a workload describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Those of `-c`. A run has one workload of this role.
    Active,
    /// Those of `--idle`, in addition to the active ones.
    Idle,
}
