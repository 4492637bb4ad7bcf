//! Errors of requests, by cell and kind.

use pitot_record::{CellRecord, Unit};

use crate::number::{count, figure};

/// One kind of error of one cell.
#[derive(Debug)]
pub(crate) struct ErrorRow {
    pub(crate) cell: String,
    pub(crate) phase: String,
    pub(crate) kind: String,
    pub(crate) count: u64,
    /// Share of the requests that were due, 0 to 1.
    pub(crate) share: Option<f64>,
    /// Repetitions with such errors, and all repetitions.
    pub(crate) of: (usize, usize),
}

/// The errors of a cell, the most frequent first.
pub(crate) fn of_cell(cell: &CellRecord) -> Vec<ErrorRow> {
    let loads: Vec<_> = cell.repetitions.iter().filter_map(|r| r.load.as_ref()).collect();
    let due: u64 = loads.iter().map(|load| load.requests.due()).fold(0, u64::saturating_add);
    let mut rows: Vec<ErrorRow> = Vec::new();
    for error in loads.iter().flat_map(|load| &load.errors).filter(|error| error.count > 0) {
        match rows.iter_mut().find(|row| (&row.phase, &row.kind) == (&error.phase, &error.kind)) {
            Some(row) => {
                row.count = row.count.saturating_add(error.count);
                row.of.0 += 1;
            }
            None => rows.push(ErrorRow {
                cell: cell.label(),
                phase: error.phase.clone(),
                kind: error.kind.clone(),
                count: error.count,
                share: None,
                of: (1, cell.repetitions.len()),
            }),
        }
    }
    for row in &mut rows {
        // A connect fails without a request.
        row.share = (due > 0).then(|| row.count as f64 / due.max(row.count) as f64);
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.count));
    rows
}

impl ErrorRow {
    pub(crate) fn fields(&self) -> [String; 4] {
        [
            format!("{} {}", self.phase, self.kind),
            count(self.count),
            self.share.map_or_else(|| "–".to_owned(), |share| figure(share * 100.0, Unit::Percent)),
            format!("{} of {}", self.of.0, self.of.1),
        ]
    }
}
