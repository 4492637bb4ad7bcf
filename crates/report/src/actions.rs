//! The actions of a cell's sessions: requests, errors and response times as the load saw them, and the share of the database where
//! the server is a brokerage that reports it.

use std::collections::BTreeMap;

use pitot_record::{CellRecord, Repetition, Unit};
use pitot_results::Latency;
use pitot_stats::median;
use serde_json::Value;

use crate::number::{count, figure, plain};

/// One action, over all repetitions of a cell.
pub(crate) struct Row {
    pub(crate) name: String,
    requests: u64,
    errors: u64,
    /// Percentiles of response times, nanoseconds: medians over repetitions.
    p50: f64,
    p99: f64,
    /// The share of the database in the time of the action in the server, 0 to 1.
    database: Option<f64>,
}

pub(crate) const COLUMNS: [&str; 5] = ["requests", "errors", "response p50", "response p99", "database"];

impl Row {
    pub(crate) fn fields(&self) -> [String; 5] {
        let share = self.database.map_or_else(|| "–".into(), |share| figure(share * 100.0, Unit::Percent));
        let time = |ns| figure(ns, Unit::Nanoseconds);
        [count(self.requests), count(self.errors), time(self.p50), time(self.p99), share]
    }
}

/// The actions of a cell, in the order of its sessions; none if it has no sessions.
pub(crate) fn rows(cell: &CellRecord) -> Vec<Row> {
    let steps = || {
        let results = cell.repetitions.iter().filter_map(|r| r.load.as_ref()?.sessions.as_ref());
        results.flat_map(|sessions| &sessions.steps)
    };
    let mut names: Vec<&str> = Vec::new();
    for step in steps() {
        if !names.contains(&step.step.as_str()) {
            names.push(&step.step);
        }
    }
    let row = |name: &str| {
        let of = || steps().filter(|step| step.step == name && step.requests > 0);
        let middle = |time: fn(&Latency) -> u64| {
            median(&of().map(|step| time(&step.time_ns) as f64).collect::<Vec<_>>()).unwrap_or_default()
        };
        Row {
            name: name.to_owned(),
            requests: of().map(|step| step.requests).sum(),
            errors: steps().filter(|step| step.step == name).map(|step| step.errors).sum(),
            p50: middle(|time| time.p50),
            p99: middle(|time| time.p99),
            database: database_share(cell, name),
        }
    };
    names.into_iter().map(row).filter(|row| row.requests + row.errors > 0).collect()
}

/// What database connections waited for, and which transactions were retried, over all repetitions; none if the server does not
/// report it.
pub(crate) fn database(cell: &CellRecord) -> Option<String> {
    let stats: Vec<&Value> = cell.repetitions.iter().filter_map(trade).collect();
    if stats.is_empty() {
        return None;
    }
    let sum = |name: &str| {
        let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
        for (kind, n) in stats.iter().filter_map(|stats| stats[name].as_object()).flatten() {
            *sums.entry(kind).or_default() += n.as_f64().unwrap_or_default();
        }
        let mut sums: Vec<(&str, f64)> = sums.into_iter().collect();
        sums.sort_by(|a, b| b.1.total_cmp(&a.1));
        sums
    };
    let list = |items: Vec<String>| if items.is_empty() { "none".into() } else { items.join(", ") };
    let mean = |(kind, n): (&str, f64)| format!("{kind} {}", plain(n / stats.len() as f64));
    let waits = list(sum("waits_mean").into_iter().map(mean).collect());
    let tried = |(kind, n): (&str, f64)| format!("{kind} {}", count(n as u64));
    let conflicts = list(sum("conflicts").into_iter().map(tried).collect());
    Some(format!("Database connections, on average: {waits}. Retried transactions: {conflicts}."))
}

/// What a brokerage printed at its end.
fn trade(repetition: &Repetition) -> Option<&Value> {
    repetition.server_stats.as_ref().filter(|stats| stats["schema"] == "pitot-trade/1")
}

/// The action of the server behind a step: `quotes` for `buy/quotes`.
fn database_share(cell: &CellRecord, step: &str) -> Option<f64> {
    let name = step.rsplit('/').next().unwrap_or(step);
    let (mut time, mut database) = (0.0, 0.0);
    for action in cell.repetitions.iter().filter_map(trade).map(|stats| &stats["actions"][name]) {
        let all = |times: &str| Some(action[times]["mean"].as_f64()? * action[times]["count"].as_f64()?);
        time += all("time_ns").unwrap_or_default();
        database += all("database_ns").unwrap_or_default();
    }
    (time > 0.0).then(|| database / time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitot_plan::Measure;
    use pitot_results::load::{LoadResult, SessionResult, StepResult};

    #[test]
    fn actions_of_all_repetitions_are_put_together_with_what_the_server_says_of_its_database() {
        let repetition = |p50: u64| {
            let time_ns = Latency { count: 10, p50, p99: 2 * p50, ..Latency::default() };
            let step = |step: &str, requests| StepResult {
                step: step.into(),
                requests,
                errors: 1,
                time_ns,
                ..StepResult::default()
            };
            let steps = vec![step("login", 10), step("buy/quotes", 5)];
            let sessions = Some(SessionResult { steps, ..SessionResult::default() });
            let stats = r#"{"schema": "pitot-trade/1", "conflicts": {"deadlock": 2}, "waits_mean": {"CPU": 0.5},
                "actions": {"login": {"time_ns": {"count": 10, "mean": 400}, "database_ns": {"count": 10, "mean": 100}}}}"#;
            Repetition {
                load: Some(LoadResult { sessions, ..LoadResult::default() }),
                server_stats: Some(serde_json::from_str(stats).unwrap()),
                ..Repetition::default()
            }
        };
        let cell = |repetitions| CellRecord {
            id: 1,
            factors: Vec::new(),
            server_command: String::new(),
            load_command: String::new(),
            measure: Measure::Fresh,
            fresh_reason: String::new(),
            control_of: None,
            repetitions,
        };
        let none = cell(Vec::new());
        let cell = cell(vec![repetition(1_000_000), repetition(3_000_000)]);
        let rows = rows(&cell);
        assert_eq!((rows.len(), &*rows[0].name, &*rows[1].name), (2, "login", "buy/quotes"));
        assert_eq!(rows[0].fields(), ["20", "2", "2.00 ms", "4.00 ms", "25.0%"].map(str::to_owned));
        assert_eq!(rows[1].fields()[4], "–");
        let told = database(&cell).unwrap();
        assert!(told.contains("CPU 0.500.") && told.contains("deadlock 4."), "{told}");
        assert!(super::rows(&none).is_empty() && database(&none).is_none());
    }
}
