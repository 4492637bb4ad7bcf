//! The servers of a run compared with the floor of their requests.

use std::path::Path;

use pitot_record::Run;
use pitot_record::metric::METRICS;
use pitot_report::{Analysis, spent};
use pitot_results::Failure;
use pitot_results::floor::{FloorBeside, FloorCell, FloorHost, FloorResult, FloorSpent};

use super::request::check_host;

/// The metric that is set beside a floor.
const METRIC: &str = "cpu-per-request";

/// What the servers of a run cost for a request.
#[derive(Debug)]
pub(super) struct Cells {
    run: String,
    cells: Vec<Cost>,
}

/// A server: name, nanoseconds of CPU time, the bounds of their interval, and in what it takes them.
type Cost = (String, f64, Option<(f64, f64)>, Vec<FloorSpent>);

impl Cells {
    pub(super) fn read(path: &Path, host: &FloorHost) -> Result<Cells, Failure> {
        let run = Run::open(path).map_err(|e| {
            Failure::misuse(
                format!("{} cannot be read: {e}", path.display()),
                "name the file of a finished run, such as one of `pitot run quick`",
            )
        })?;
        let analysis = Analysis::of(&run);
        let metric = METRICS.iter().find(|metric| metric.name == METRIC);
        let cells: Vec<Cost> = analysis
            .cells
            .iter()
            .filter_map(|cell| {
                let cost = cell.estimate(metric?)?;
                let spent = spent(cell.record).into_iter().map(|(what, cpu_ns)| FloorSpent { what, cpu_ns });
                let interval = cost.interval.map(|i| (i.low, i.high));
                Some((analysis.name_of(cell), cost.value, interval, spent.collect()))
            })
            .collect();
        if cells.is_empty() {
            let what = format!("{} has no CPU time per request", path.display());
            return Err(Failure::misuse(what, "name a run of servers, such as one of `pitot run quick`"));
        }
        check_host(host, &run)?;
        Ok(Cells { run: path.display().to_string(), cells })
    }

    /// The cells and their ratio to the floor of this kind of request.
    pub(super) fn beside(self, floor: &FloorResult, request: &str) -> FloorBeside {
        let floor = floor.requests.iter().find(|floor| floor.name == request);
        let of_cell = |(cell, cpu_ns, interval, spent): Cost| {
            Some(FloorCell { cell, cpu_ns, times: floor?.cpu_ns.times(cpu_ns, interval), spent })
        };
        FloorBeside {
            run: self.run,
            request: request.to_owned(),
            cells: self.cells.into_iter().filter_map(of_cell).collect(),
        }
    }
}
