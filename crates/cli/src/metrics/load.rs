//! The figures of `pitot load`.

use pitot_load::Progress;
use pitot_results::load::ErrorRow;
use pitot_scrape::{Family, Publisher};

use super::about::{about, times};
use super::traffic::{self, Traffic};

/// Tells how a load goes. A search has one series of counts over all of its steps.
pub(crate) struct LoadMetrics {
    publisher: Publisher,
    about: Family,
    traffic: Traffic,
    /// Errors of earlier steps of a search, by phase and kind.
    earlier: Vec<ErrorRow>,
    /// Those of the present step.
    kinds: Vec<ErrorRow>,
    /// Seconds that are over.
    elapsed_s: u64,
}

impl LoadMetrics {
    /// Of a load of this target, which is without secrets.
    pub(crate) fn new(publisher: Publisher, target: &str) -> LoadMetrics {
        let metrics = LoadMetrics {
            publisher,
            about: about("load", target),
            traffic: Traffic::default(),
            earlier: Vec::new(),
            kinds: Vec::new(),
            elapsed_s: 0,
        };
        metrics.publish(None, None);
        metrics
    }

    /// A measured part begins, with a series of errors of its own.
    pub(crate) fn measured_from(&mut self) {
        let kinds = std::mem::take(&mut self.kinds);
        add(&mut self.earlier, &kinds);
    }

    /// A second is over.
    pub(crate) fn second(&mut self, progress: &Progress<'_>) {
        let (traffic, second) = (&mut self.traffic, progress.second);
        traffic.completed += second.completed;
        let by_status = [second.status_2xx, second.status_3xx, second.status_4xx, second.status_5xx];
        traffic.by_status.iter_mut().zip(by_status).for_each(|(all, count)| *all += count);
        traffic.missed += second.missed;
        traffic.errors += second.errors;
        traffic.received += second.received;
        traffic.sent += second.sent;
        traffic.open = second.open;
        traffic.rate = second.completed;
        traffic.percentiles =
            vec![("50", second.p50_ns), ("95", second.p95_ns), ("99", second.p99_ns), ("100", second.max_ns)];
        if second.completed == 0 {
            traffic.percentiles.clear();
        }
        traffic.response.add(progress.response);
        self.kinds = progress.kinds.to_vec();
        let mut kinds = self.earlier.clone();
        add(&mut kinds, &self.kinds);
        self.traffic.kinds = kinds.into_iter().map(|row| (row.phase, row.kind, row.count)).collect();
        self.elapsed_s += 1;
        self.publish(progress.left.map(|left| left.as_secs_f64()), progress.trying_rps);
    }

    fn publish(&self, left_s: Option<f64>, trying_rps: Option<f64>) {
        self.publisher.publish(self.families(left_s, trying_rps));
    }

    pub(super) fn families(&self, left_s: Option<f64>, trying_rps: Option<f64>) -> Vec<Family> {
        let mut families = vec![self.about.clone()];
        families.extend(times(self.elapsed_s as f64, left_s));
        families.extend(traffic::families(std::slice::from_ref(&self.traffic)));
        let mut trying =
            Family::gauge("pitot_search_requests_per_second", "The rate that a search is trying.");
        if let Some(rate) = trying_rps {
            trying.put(Vec::new(), rate);
        }
        families.push(trying);
        families
    }
}

fn add(all: &mut Vec<ErrorRow>, rows: &[ErrorRow]) {
    for row in rows {
        match all.iter_mut().find(|known| known.phase == row.phase && known.kind == row.kind) {
            Some(known) => known.count += row.count,
            None => all.push(row.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pitot_meter::{Histogram, Nanos};
    use pitot_results::load::Second;

    use super::*;

    #[test]
    fn counts_of_a_search_go_on_over_its_steps() {
        let mut metrics = LoadMetrics::new(Publisher::default(), "http://127.0.0.1/");
        let mut response = Histogram::new();
        response.record(Nanos::from_millis(3));
        for (step, errors) in [(0, [1, 3]), (1, [2, 2])] {
            metrics.measured_from();
            for (t_s, errors) in (0..).zip(errors) {
                let row = ErrorRow {
                    phase: "receive".into(),
                    kind: "reset".into(),
                    count: errors,
                    ..ErrorRow::default()
                };
                let second = Second { t_s, completed: 10, status_2xx: 9, open: 4, ..Second::default() };
                metrics.second(&Progress {
                    second: &second,
                    response: &response,
                    steps: None,
                    durability: None,
                    errors,
                    kinds: &[row],
                    left: None,
                    trying_rps: Some(100.0 + f64::from(step)),
                });
            }
        }
        let families = Arc::new(metrics.families(None, Some(101.0)));
        let text = pitot_scrape::text(&families, pitot_scrape::Format::OpenMetrics);
        for line in [
            "pitot_requests_total{status=\"2xx\"} 36",
            "pitot_requests_total{status=\"other\"} 4",
            "pitot_errors_total{phase=\"receive\",kind=\"reset\"} 5",
            "pitot_connections_open 4",
            "pitot_response_seconds_count 4",
            "pitot_response_seconds_bucket{le=\"0.002\"} 0",
            "pitot_response_seconds_bucket{le=\"0.005\"} 4",
            "pitot_search_requests_per_second 101.0",
            "pitot_elapsed_seconds 4.0",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
    }
}
