//! The life of connections.
//!
//! A workload is data: when its connections are opened, how many requests each carries, what they do in between. The
//! engines know no workload by name.

mod browser;
mod churn;
mod entry;
mod idle;
mod lifecycle;
mod per_request;
mod persistent;
mod storm;

use entry::Role;
pub use entry::{WorkloadEntry, WorkloadOptions};
pub use lifecycle::{ConnectAt, Group, Lifecycle, Usage};

/// All workloads, in the order in which lists show them. Of those of active connections the first that the options ask
/// for applies.
pub static WORKLOADS: &[WorkloadEntry] =
    &[browser::ENTRY, storm::ENTRY, churn::ENTRY, per_request::ENTRY, persistent::ENTRY, idle::ENTRY];

/// The groups of connections that the options ask for, with their workloads' names: the active ones first, then the idle
/// ones.
///
/// # Errors
/// One line if the options contradict each other.
pub fn groups(options: &WorkloadOptions) -> Result<Vec<(&'static str, Group)>, String> {
    let requested = |role| WORKLOADS.iter().find(|w| w.role == role && (w.requested)(options));
    let mut groups = Vec::new();
    for workload in [Role::Active, Role::Idle].into_iter().filter_map(requested) {
        let group = (workload.group)(options)?;
        if group.connections > 0 {
            groups.push((workload.name, group));
        }
    }
    if groups.is_empty() { Err("no connections are requested (-c, --idle)".into()) } else { Ok(groups) }
}

#[cfg(test)]
mod tests {
    use pitot_meter::Nanos;

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
        assert_eq!(named(&WorkloadOptions { browser: Some(6), ..base.clone() }), ["browser"]);
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
            WorkloadOptions { browser: Some(0), ..base.clone() },
            WorkloadOptions { browser: Some(6), storm: true, ..base.clone() },
            WorkloadOptions { requests_per_connection: Some(0), ..base },
        ] {
            assert!(groups(&bad).is_err(), "{bad:?}");
        }
    }
}
