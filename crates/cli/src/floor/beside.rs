//! The servers of a run beside the floor of their requests.

use std::path::Path;

use pitot_lab::Run;
use pitot_lab::metric::METRICS;
use pitot_report::Analysis;
use pitot_results::Failure;
use pitot_results::floor::FloorResult;

use super::table::time;
use crate::output::table_with_words;

/// The metric that is set beside a floor.
const METRIC: &str = "cpu-per-request";

/// What the servers of a run cost for a request: name, nanoseconds of CPU time.
#[derive(Debug)]
pub(super) struct Cells(Vec<(String, f64)>);

impl Cells {
    pub(super) fn read(path: &Path) -> Result<Cells, Failure> {
        let run = Run::open(path).map_err(|e| {
            Failure::misuse(
                format!("{} cannot be read: {e}", path.display()),
                "name the file of a finished run, such as the one that `pitot run quick` makes",
            )
        })?;
        let analysis = Analysis::of(&run);
        let metric = METRICS.iter().find(|metric| metric.name == METRIC);
        let cells = analysis
            .cells
            .iter()
            .filter_map(|cell| Some((analysis.name_of(cell), cell.estimate(metric?)?.value)));
        let cells = Cells(cells.collect());
        if cells.0.is_empty() {
            let what = format!("{} has no CPU time per request", path.display());
            return Err(Failure::misuse(what, "name a run of servers, such as that of `pitot run quick`"));
        }
        Ok(cells)
    }

    /// The cells and their ratio to the floor of this kind of request.
    pub(super) fn text(&self, floor: &FloorResult, request: &str) -> String {
        let Some(floor) = floor.requests.iter().find(|floor| floor.name == request) else {
            return format!("\nThe floor of {request} is not known: its primitives were not all measured.\n");
        };
        let rows: Vec<Vec<String>> = self
            .0
            .iter()
            .map(|(name, ns)| {
                vec![
                    name.clone(),
                    time(*ns),
                    format!("{:.2}", ns / floor.cpu_ns.median),
                    "x the floor".into(),
                ]
            })
            .collect();
        format!("\n{}", table_with_words(&["Server", "CPU/request", "", ""], &rows))
    }
}
