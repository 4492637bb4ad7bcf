//! The figures as CSV (RFC 4180): one line for each cell and metric, for a spreadsheet or a script.

use crate::amount::unit;
use crate::analysis::{Analysis, Cell};
use crate::phrase::decision;
use pitot_record::{METRICS, Metric};
use pitot_stats::{Comparison, Estimate};
use std::fmt::Write as _;

/// The columns after the factors. Times are in nanoseconds or seconds as `unit` says, sizes in bytes. `ratio` and the columns after
/// it compare the cell with its baseline; a field without a value is empty.
const COLUMNS: &str =
    "verdict,metric,unit,value,low,high,coverage,min,max,repetitions,ratio,ratio_low,ratio_high,p,decision";

/// The figures of a run.
pub(crate) fn render(a: &Analysis<'_>) -> String {
    let factors: Vec<&str> =
        a.run.cells.first().map(|c| c.factors.iter().map(|f| f.name.as_str()).collect()).unwrap_or_default();
    let mut out = String::new();
    record(&mut out, factors.iter().copied().chain(COLUMNS.split(',')));
    for (index, metric) in METRICS.iter().enumerate() {
        let comparisons = a.against_baseline(metric);
        for (cell, comparison) in a.cells.iter().zip(comparisons) {
            let Some(e) = cell.estimates[index].as_ref().filter(|_| !cell.failed()) else { continue };
            let fields = fields(cell, metric, e, comparison.as_ref());
            record(&mut out, fields.iter().map(String::as_str));
        }
    }
    out
}

/// The factors and the fields of [`COLUMNS`] of a cell in one metric.
fn fields(cell: &Cell<'_>, metric: &Metric, e: &Estimate, ratio: Option<&Comparison>) -> Vec<String> {
    let mut fields: Vec<String> = cell.record.factors.iter().map(|f| f.level.clone()).collect();
    let number = |v: Option<f64>| v.map_or_else(String::new, |v| v.to_string());
    let interval = e.interval;
    fields.extend([
        cell.verdict.kind.name().to_owned(),
        metric.name.to_owned(),
        metric.unit.symbol().to_owned(),
        e.value.to_string(),
        number(interval.map(|i| i.low)),
        number(interval.map(|i| i.high)),
        number(interval.map(|i| i.coverage)),
        e.min.to_string(),
        e.max.to_string(),
        e.repetitions.to_string(),
        number(ratio.map(|c| c.ratio)),
        number(ratio.and_then(|c| c.interval).map(|i| i.low)),
        number(ratio.and_then(|c| c.interval).map(|i| i.high)),
        number(ratio.and_then(|c| c.p)),
        ratio.map(|c| decision(c, metric, unit(cell.record))).unwrap_or_default(),
    ]);
    fields
}

/// Whether a spreadsheet would run the field as a formula (OWASP, "CSV Injection"); a number is none.
fn is_formula(field: &str) -> bool {
    field.starts_with(['=', '+', '-', '@', '\t', '\r']) && field.parse::<f64>().is_err()
}

/// One line. Text that looks like a formula begins with a quote ('), which spreadsheets hide.
pub(crate) fn record<'a>(out: &mut String, fields: impl Iterator<Item = &'a str>) {
    for (i, field) in fields.enumerate() {
        if i > 0 {
            out.push(',');
        }
        let guard = if is_formula(field) { "'" } else { "" };
        if field.contains([',', '"', '\n', '\r']) {
            let _ = write!(out, "\"{guard}{}\"", field.replace('"', "\"\""));
        } else {
            let _ = write!(out, "{guard}{field}");
        }
    }
    out.push_str("\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_with_commas_and_quotes_survive() {
        let mut out = String::new();
        record(&mut out, ["a,b", "say \"x\"", "plain"].into_iter());
        assert_eq!(out, "\"a,b\",\"say \"\"x\"\"\",plain\r\n");
    }

    #[test]
    fn text_is_no_formula_and_numbers_stay_numbers() {
        let mut out = String::new();
        record(&mut out, ["=1+1", "+x", "-x,y", "@x", "\tx", "\r=x", "-1.5", "+2", "-1e-7"].into_iter());
        assert_eq!(out, "'=1+1,'+x,\"'-x,y\",'@x,'\tx,\"'\r=x\",-1.5,+2,-1e-7\r\n");
    }
}
