use pitot_meter::units::{counted, grouped};

use super::asked::Demand;
use super::facts::Facts;
use super::subject::Subject;

/// One rule: a figure of the machine that has to be large enough.
#[derive(Debug)]
pub struct Rule {
    /// The setting or limit by its name in the kernel: `fs.file-max`.
    pub name: &'static str,
    /// What it is about.
    pub subject: Subject,
    /// What the figure counts.
    pub unit: Unit,
    /// What happens if it is too small.
    pub why: &'static str,
    /// Where that is written.
    pub source: &'static str,
    /// What it has to be at least; 0 where it does not matter.
    pub(super) wanted: fn(&Facts, &Demand) -> u64,
    /// What it is; `None` where it cannot be seen.
    pub(super) found: fn(&Facts, &Demand) -> Option<u64>,
    /// How to mend it, from the figure that is wanted.
    pub(super) mend: fn(&Facts, u64) -> String,
}

/// What a rule's figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Things.
    Count,
    /// Bytes.
    Bytes,
    /// Pages of memory.
    Pages,
}

impl Unit {
    pub(super) fn show(self, figure: u64) -> String {
        match self {
            Unit::Count => grouped(figure),
            Unit::Bytes if figure >= 10 << 30 => format!("{} GiB", figure.div_ceil(1 << 30)),
            Unit::Bytes => format!("{} MiB", grouped(figure.div_ceil(1 << 20))),
            Unit::Pages => counted(figure, "page", "pages"),
        }
    }
}
