//! Plans: what a run measures, as data.
//!
//! A plan crosses the levels of its factors; each combination is a cell, a server command and a load command that a
//! user could type. [`Plan::parse`] checks every word against a [`Catalog`], so that a mistake is reported with its line
//! before anything runs; [`expand`] is pure. A plan from a run file is trusted and read by serde.
#![forbid(unsafe_code)]

mod catalog;
mod change;
mod claim;
mod command;
mod definition;
mod expand;
mod foreign;
mod guests;
mod host;
mod hosts;
mod kernels;
mod keys;
mod levels;
mod nearest;
pub mod number;
mod options;
mod place;
mod placeholders;
mod published;
mod read;
mod schema;
mod secrets;
mod server;
mod skip;
mod soak;
mod source;
mod suites;
mod target;
mod template;
#[cfg(test)]
mod tests;
mod under;
mod value;
mod written;

pub use catalog::{
    Catalog, ImpossibleOption, ImpossiblePair, ModelWord, OptionMeaning, OptionWord, ProgramWord,
    ProtocolWord, TargetWord,
};
pub use change::with_change;
pub use claim::{Bounds, Claim};
pub use command::OWN;
pub use command::Placement;
pub use definition::{Measure, Order, Plan, Profiled, Replies};
pub use expand::{Cell, CellServer, Excess, HostLimits, Settling, Takes, expand};
pub use foreign::Foreign;
pub use foreign::cpu_seconds;
pub use host::changes_host;
pub use host::{AS_FOUND, SETTINGS_FACTOR, SettingSet};
pub use hosts::CPUS_APART;
pub use hosts::Host;
pub use kernels::{GVISOR_KERNEL, HOST_KERNEL, KernelUse};
pub use keys::{KeyInWords, plan_keys};
pub use levels::label;
pub use levels::{Factor, FactorLevel, KERNEL_FACTOR, Levels, REPLICATE_FACTOR, SERVER_FACTOR};
pub use nearest::nearest;
pub use placeholders::RESOLVER;
pub use published::{Exclusion, Published, PublishedValue};
pub use schema::plan_schema;
pub use secrets::masked_levels;
pub use server::{External, FileContent, Helper, PlanFile, Program, Ready, ServerSpec, TargetUse};
pub use skip::{SkipKind, SkipRecord, shortened, skips_by_reason};
pub use soak::SoakPlan;
pub use source::PlanError;
pub use suites::{RENAMED_SUITES, SUITES, Suite, suite};
pub use template::{LinePiece, line_template};
pub use value::{Settings, Value};
pub use written::{shell_line, toml_key, toml_string};
