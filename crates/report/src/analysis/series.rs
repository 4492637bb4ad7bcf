//! The lines of the charts: combinations of all factors but the one on the x axis.

use super::factor::{factor_title, level_words};
use super::load_axis::LoadAxis;
use pitot_record::{CellRecord, Run};

/// A line of the charts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// Its levels joined: `loop+epoll-et, size 4KiB`.
    pub name: String,
    /// Whether it is the plan's baseline.
    pub is_baseline: bool,
}

impl Series {
    /// The series of a cell. A baseline that names a load level is no series: each series is compared with itself at that level.
    pub(super) fn of(run: &Run, record: &CellRecord, load: &LoadAxis) -> Series {
        let baseline = run.plan.baseline.as_ref().filter(|b| !load.is_named_by(b));
        Series {
            name: name(run, record, load.factor.as_deref()),
            is_baseline: baseline.is_some_and(|b| b.matches(&record.factors)),
        }
    }
}

/// The levels of all varying factors except the one on the x axis; numbers and switches with the name of their factor.
fn name(run: &Run, record: &CellRecord, load_factor: Option<&str>) -> String {
    let varies = |name: &str| {
        let first = run.cells.first().and_then(|c| c.level(name)).map(|f| &f.level);
        run.cells.iter().any(|c| c.level(name).map(|f| &f.level) != first)
    };
    let words: Vec<String> = record
        .factors
        .iter()
        .filter(|f| Some(f.name.as_str()) != load_factor && varies(&f.name))
        .map(|f| {
            let is_word = f.number.is_none() && f.level != "true" && f.level != "false";
            if is_word {
                level_words(&f.name, &f.level)
            } else {
                format!("{} {}", factor_title(&f.name), f.level)
            }
        })
        .collect();
    if words.is_empty() {
        let named = record.level(pitot_plan::SERVER_FACTOR);
        let other = || record.factors.iter().find(|f| Some(f.name.as_str()) != load_factor);
        let program = || run.plan.program.clone().unwrap_or_else(|| run.plan.name.clone());
        return named.or_else(other).map_or_else(program, |f| f.level.clone());
    }
    words.join(", ")
}
