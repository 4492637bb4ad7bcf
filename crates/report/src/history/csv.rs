//! A history as CSV (RFC 4180): one line for each run and cell.

use super::line::{COMMIT, Line, Point};
use super::whole::History;
use crate::csv::record;

const COLUMNS: &str = "plan,cell,metric,unit,machine,file,run,started_at,commit,labels,value,low,high,reference,ratio,ratio_low,\
                       ratio_high,change";

/// `change` is the level after a change to that before, at the first run after it.
pub(super) fn render(history: &History) -> String {
    let mut out = String::new();
    record(&mut out, COLUMNS.split(','));
    for line in &history.lines {
        for (at, point) in line.points.iter().enumerate() {
            let fields = fields(line, at, point);
            record(&mut out, fields.iter().map(String::as_str));
        }
    }
    out
}

fn fields(line: &Line, at: usize, point: &Point) -> Vec<String> {
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let end = |interval: Option<[f64; 2]>, end: usize| number(interval.map(|interval| interval[end]));
    let labels: Vec<String> =
        point.run.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let ratio = point.ratio.as_ref();
    let of_ratio = ratio.and_then(|ratio| ratio.interval);
    let change = line.changes.iter().find(|change| change.at == at);
    vec![
        line.plan.clone(),
        line.cell.clone(),
        line.metric.name.to_owned(),
        line.metric.unit.symbol().to_owned(),
        point.run.machine.clone(),
        point.run.file.display().to_string(),
        point.run.id.clone(),
        point.run.started_at.clone(),
        point.label(COMMIT).unwrap_or_default().to_owned(),
        labels.join(";"),
        point.value.to_string(),
        end(point.interval, 0),
        end(point.interval, 1),
        ratio.map(|ratio| ratio.reference.clone()).unwrap_or_default(),
        number(ratio.map(|ratio| ratio.value)),
        end(of_ratio, 0),
        end(of_ratio, 1),
        number(change.map(|change| change.ratio)),
    ]
}
