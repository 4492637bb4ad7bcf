//! What becomes of connections.
//!
//! A workload is data: when its connections are opened, how many requests each carries, what they do in between. The
//! loops read it and know no workload by name.

mod churn;
mod idle;
mod per_request;
mod persistent;
mod storm;

use pitot_meter::Nanos;

/// The life of the connections of one group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Lifecycle {
    pub(crate) opening: Opening,
    /// Requests after which a connection is closed; `u64::MAX` for none.
    pub(crate) requests_max: u64,
    /// Connections per second, of all together, that are closed and opened again.
    pub(crate) churn_rate: f64,
    /// What they do once they are open.
    pub(crate) usage: Usage,
}

/// When connections are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// Gently, before the run starts.
    BeforeStart,
    /// When there is a request to send. Its response time counts from before.
    OnDemand,
    /// All at the start, which is what is measured.
    AtOnce,
}

/// What open connections do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Usage {
    /// Send requests at the pace of the run.
    Requests,
    /// Nothing, but for a request each `trickle`.
    Silence { trickle: Option<Nanos> },
}

/// So many connections with the same life.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Group {
    pub(crate) connections: u64,
    pub(crate) lifecycle: Lifecycle,
}

/// What the user said about connections.
#[derive(Clone, Debug, Default)]
pub struct WorkloadOptions {
    /// Active connections in all (`-c`).
    pub connections: u64,
    /// Requests per connection, where limited (`--requests-per-connection`, or the protocol's own limit).
    pub requests_per_connection: Option<u64>,
    /// Connections closed and opened again per second (`--churn`).
    pub churn: Option<f64>,
    /// Open all connections at once and stop when they are established (`--storm`).
    pub storm: bool,
    /// Silent connections beside the active ones (`--idle`).
    pub idle: u64,
    /// The time between two requests of a silent connection (`--idle-trickle`).
    pub idle_trickle: Option<Nanos>,
}

/// One workload of the registry.
#[derive(Debug)]
pub struct WorkloadEntry {
    /// The word in results.
    pub name: &'static str,
    /// The option that asks for it.
    pub flag: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// A paragraph for help and docs.
    pub doc: &'static str,
    /// True if the options ask for it.
    asked: fn(&WorkloadOptions) -> bool,
    /// How many connections it has, and their life; or what is wrong with the options in one line.
    group: fn(&WorkloadOptions) -> Result<Group, String>,
}

/// All workloads. Of those of active connections the first that is asked for holds.
pub static WORKLOADS: &[WorkloadEntry] =
    &[storm::ENTRY, churn::ENTRY, per_request::ENTRY, persistent::ENTRY, idle::ENTRY];

/// The groups of connections that the options ask for, by name: one of active connections, and silent ones beside it.
///
/// # Errors
/// One line if the options contradict each other.
pub(crate) fn groups(options: &WorkloadOptions) -> Result<Vec<(&'static str, Group)>, String> {
    if options.storm && (options.churn.is_some() || options.requests_per_connection.is_some_and(|n| n > 1)) {
        return Err("--storm only opens connections: it cannot be combined with --churn or \
                    --requests-per-connection"
            .into());
    }
    if options.idle_trickle.is_some() && options.idle == 0 {
        return Err("--idle-trickle needs --idle".into());
    }
    let active = WORKLOADS.iter().find(|w| w.name != idle::ENTRY.name && (w.asked)(options));
    let idle = Some(&idle::ENTRY).filter(|w| (w.asked)(options));
    let mut groups = Vec::new();
    for workload in active.into_iter().chain(idle) {
        let group = (workload.group)(options)?;
        if group.connections > 0 {
            groups.push((workload.name, group));
        }
    }
    if groups.is_empty() { Err("no connection is asked for (-c, --idle)".into()) } else { Ok(groups) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(options: &WorkloadOptions) -> Vec<&'static str> {
        groups(options).unwrap().into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn every_entry_is_named_once_and_documented() {
        for (i, w) in WORKLOADS.iter().enumerate() {
            assert!(WORKLOADS[..i].iter().all(|v| v.name != w.name), "{} stands twice", w.name);
            assert!(!w.summary.is_empty() && w.doc.len() > w.summary.len(), "{} lacks its docs", w.name);
        }
    }

    #[test]
    fn options_choose_the_workload() {
        let base = WorkloadOptions { connections: 4, ..WorkloadOptions::default() };
        assert_eq!(named(&base), ["persistent"]);
        assert_eq!(
            named(&WorkloadOptions { requests_per_connection: Some(1), ..base.clone() }),
            ["per-request"]
        );
        assert_eq!(
            named(&WorkloadOptions { requests_per_connection: Some(9), ..base.clone() }),
            ["persistent"]
        );
        assert_eq!(named(&WorkloadOptions { churn: Some(5.0), ..base.clone() }), ["churn"]);
        assert_eq!(named(&WorkloadOptions { storm: true, ..base.clone() }), ["storm"]);
        assert_eq!(named(&WorkloadOptions { idle: 9, ..base.clone() }), ["persistent", "idle"]);
        assert_eq!(named(&WorkloadOptions { idle: 9, connections: 0, ..base }), ["idle"]);
    }

    #[test]
    fn contradictions_are_refused() {
        let base = WorkloadOptions { connections: 4, ..WorkloadOptions::default() };
        for bad in [
            WorkloadOptions::default(),
            WorkloadOptions { storm: true, churn: Some(1.0), ..base.clone() },
            WorkloadOptions { idle_trickle: Some(Nanos(1)), ..base.clone() },
            WorkloadOptions { churn: Some(0.0), ..base.clone() },
            WorkloadOptions { requests_per_connection: Some(0), ..base },
        ] {
            assert!(groups(&bad).is_err(), "{bad:?}");
        }
    }
}
