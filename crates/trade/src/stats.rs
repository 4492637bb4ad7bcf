//! Statistics of a running server: the time of each action, and the database's share of it.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pitot_meter::{Histogram, Nanos};
use pitot_results::Latency;
use serde_json::{Value as Json, json};

use crate::store::Cost;

#[derive(Default)]
struct OfAction {
    count: u64,
    errors: u64,
    statements: u64,
    time: Histogram,
    database: Histogram,
    wait: Duration,
}

#[derive(Default)]
struct All {
    actions: BTreeMap<&'static str, OfAction>,
    conflicts: BTreeMap<&'static str, u64>,
    waits: BTreeMap<String, i64>,
    samples: u64,
}

/// The queue's query for orders. No user waits for it, and it also runs when there are none.
pub(crate) const POLL: &str = "open-orders";
/// How it completes one.
pub(crate) const COMPLETE: &str = "complete";

/// Counts of the whole server.
#[derive(Default)]
pub(crate) struct Stats(Mutex<All>);

impl Stats {
    fn with<T>(&self, work: impl FnOnce(&mut All) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// An action is over, after so long.
    pub(crate) fn record(&self, name: &'static str, time: Duration, cost: &Cost, ok: bool) {
        self.with(|all| {
            let of = all.actions.entry(name).or_default();
            of.count += 1;
            of.errors += u64::from(!ok);
            of.statements += cost.statements;
            of.wait += cost.wait;
            of.time.record(Nanos::from(time));
            of.database.record(Nanos::from(cost.database));
            for kind in &cost.conflicts {
                *all.conflicts.entry(kind).or_default() += 1;
            }
        });
    }

    /// Adds the wait events of connections at one check.
    pub(crate) fn waits(&self, waits: Vec<(String, i64)>) {
        self.with(|all| {
            all.samples += 1;
            for (kind, count) in waits {
                *all.waits.entry(kind).or_default() += count;
            }
        });
    }

    /// Requests so far, without the work of the queue.
    pub(crate) fn requests(&self) -> u64 {
        let of_users =
            |(name, of): (&&str, &OfAction)| (![POLL, COMPLETE].contains(name)).then_some(of.count);
        self.with(|all| all.actions.iter().filter_map(of_users).sum())
    }

    /// As one JSON object: actions, conflicts, and the mean number of connections that waited for each thing. The sums are
    /// without the polls of the queue.
    pub(crate) fn json(&self) -> Json {
        self.with(|all| {
            let mut time = Duration::ZERO;
            let mut database = Duration::ZERO;
            let mut wait = Duration::ZERO;
            let mut actions = serde_json::Map::new();
            for (name, of) in &all.actions {
                let sum = |h: &Histogram| Duration::from(h.mean()) * h.count() as u32;
                let (of_time, of_database) = (sum(&of.time), sum(&of.database));
                if *name != POLL {
                    time += of_time;
                    database += of_database;
                    wait += of.wait;
                }
                let share = of_database.as_secs_f64() / of_time.as_secs_f64().max(1e-9);
                let value = json!({
                    "count": of.count, "errors": of.errors, "statements": of.statements,
                    "time_ns": Latency::of(&of.time), "database_ns": Latency::of(&of.database),
                    "database_share": share, "wait_s": of.wait.as_secs_f64(),
                });
                actions.insert((*name).to_owned(), value);
            }
            let samples = all.samples.max(1) as f64;
            let waits: BTreeMap<&String, f64> =
                all.waits.iter().map(|(kind, n)| (kind, *n as f64 / samples)).collect();
            json!({
                "actions": actions, "conflicts": all.conflicts, "waits_mean": waits, "wait_samples": all.samples,
                "time_s": time.as_secs_f64(), "database_s": database.as_secs_f64(), "wait_s": wait.as_secs_f64(),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polls_of_the_queue_are_in_no_sum() {
        let stats = Stats::default();
        let cost = Cost { database: Duration::from_millis(100), ..Cost::default() };
        stats.record("buy", Duration::from_millis(200), &cost, true);
        for _ in 0..10 {
            stats.record(POLL, Duration::from_millis(100), &cost, true);
        }
        stats.record(COMPLETE, Duration::from_millis(100), &cost, true);
        let json = stats.json();
        let near = |name: &str, wanted: f64| (json[name].as_f64().unwrap() - wanted).abs() < 0.01;
        assert!(near("time_s", 0.3) && near("database_s", 0.2), "{json}");
        assert_eq!((stats.requests(), &json["actions"][POLL]["count"]), (1, &10.into()));
    }
}
