//! The lab: it expands plans, runs cells and writes the run file.
//!
//! It drives only what a user could type: servers and load generators are separate processes, started by their
//! command lines and known by what they print. So nothing here depends on `pitot-serve` or `pitot-load`, and any
//! other server is a cell like theirs.
//!
//! For reports, start at [`Run::open`] and [`METRICS`].
#![forbid(unsafe_code)]

pub mod advise;
mod catalog;
pub mod database;
mod figures;
pub mod kept;
pub mod metric;
mod monitor;
mod nearest;
mod plan;
mod procfs;
mod record;
pub mod runfile;
mod runner;
pub mod secrets_file;
mod self_check;
pub mod statistics;
mod suites;
pub mod tune;
mod units;
mod written;

pub use catalog::{
    Catalog, ImpossibleOption, ImpossiblePair, ModelWord, OptionMeaning, OptionWord, ProgramWord,
    ProtocolWord, TargetWord,
};
pub use metric::{Better, METRICS, Metric, Unit};
pub use nearest::nearest;
pub use pitot_fault as fault;
pub use pitot_results::load::{LoadResult, OwnCpu, Storm, Window};
pub use pitot_results::{Latency, VerdictKind, receipts};
pub use plan::{
    AS_FOUND, Cell, CellServer, Exclusion, External, Factor, FactorLevel, FileContent, Foreign,
    GVISOR_KERNEL, HOST_KERNEL, Helper, HostLimits, KERNEL_FACTOR, KernelUse, Levels, Measure, Order,
    Placement, Plan, PlanError, PlanFile, Program, Published, PublishedValue, REPLICATE_FACTOR, Ready,
    Replies, SERVER_FACTOR, SETTINGS_FACTOR, ServerSpec, SettingSet, Settings, SkipKind, SkipRecord,
    SoakPlan, Takes, TargetUse, Value, expand, plan_schema, shortened, skips_by_reason, with_change,
};
pub use record::{
    CellRecord, CpuSample, HostRecord, Lifetime, Repetition, Resources, Run, RunInfo, RunState, Sample,
    Slice, TreeSample, Verdict,
};
pub use runfile::{RunFileError, RunWriter};
pub use runner::{
    Arrival, Caller, Carrier, Event, FaultNews, GUEST_START_MAX_S, Ground, Guardian, Leftovers, OtherRun,
    Outcome, Part, PartCell, Place, Prepared, Request, RunLock, ShownCell, StandingLoad, StandingServer,
    Step, Ways, Where, Work, check_part, prepare, prepare_part, push, run, serve_agent,
};
pub use self_check::SelfCheck;
pub use statistics::Statistic;
pub use suites::{SUITES, Suite, suite};
pub use written::{shell_line, toml_key, toml_string};
