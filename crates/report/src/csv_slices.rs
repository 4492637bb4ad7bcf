//! Every slice as CSV (RFC 4180).

use crate::csv::record;
use pitot_record::{CellRecord, Run, Slice};

/// The columns after the factors. Times are in nanoseconds, `began_unix_ns` since 1970; an unknown value is empty.
/// `predecessor` is the cell whose slice came before, by its levels; `control` is 1 for a control.
const COLUMNS: &str = "control,generation,round,position,predecessor,began_unix_ns,late_ns,duration_ns,drain_ns,requests,errors,\
     missed,received_bytes,sent_bytes,server_cpu_ns,client_cpu_ns,steal_ns,pace_ns,p50_ns,p90_ns,p99_ns,max_ns,throughput_rps,\
     cpu_ns_per_request";

/// All slices of a run, by cell and then by time. Generations, rounds and positions count from 1.
pub(crate) fn render(run: &Run) -> String {
    let all = || run.cells.iter().chain(&run.controls);
    let factors: Vec<&str> =
        all().next().map(|c| c.factors.iter().map(|f| f.name.as_str()).collect()).unwrap_or_default();
    let mut out = String::new();
    record(&mut out, factors.iter().copied().chain(COLUMNS.split(',')));
    for cell in all() {
        for repetition in &cell.repetitions {
            for slice in &repetition.slices {
                let predecessor = slice.predecessor.and_then(|id| all().find(|c| c.id == id));
                let fields = fields(cell, repetition.block, slice, predecessor);
                record(&mut out, fields.iter().map(String::as_str));
            }
        }
    }
    out
}

fn fields(cell: &CellRecord, block: u32, s: &Slice, predecessor: Option<&CellRecord>) -> Vec<String> {
    let predecessor = predecessor.map_or_else(String::new, |c| {
        let control = if c.control_of.is_some() { " (control)" } else { "" };
        format!("{}{control}", c.label())
    });
    let number = |v: Option<f64>| v.map_or_else(String::new, |v| v.to_string());
    let mut fields: Vec<String> = cell.factors.iter().map(|f| f.level.clone()).collect();
    fields.extend([
        u32::from(cell.control_of.is_some()).to_string(),
        (block + 1).to_string(),
        (s.round + 1).to_string(),
        (s.position + 1).to_string(),
        predecessor,
    ]);
    let integers = [
        s.began_unix_ns,
        s.late_ns,
        s.duration_ns,
        s.drain_ns,
        s.requests,
        s.errors,
        s.missed,
        s.received_bytes,
        s.sent_bytes,
    ];
    fields.extend(integers.map(|v| v.to_string()));
    fields.push(s.server_cpu_ns.map_or_else(String::new, |v| v.to_string()));
    fields.extend([s.client_cpu_ns, s.steal_ns].map(|v| v.to_string()));
    fields.push(s.pace_ns.map_or_else(String::new, |v| v.to_string()));
    fields.extend([s.p50_ns, s.p90_ns, s.p99_ns, s.max_ns].map(|v| v.to_string()));
    fields.push(number(s.throughput_rps()));
    fields.push(number(s.server_cpu_ns.and_then(|cpu| s.per_request(cpu))));
    fields
}
