//! The keys of a plan, each defined once.
//!
//! An entry of a table has a key's name, type and bounds, default, documentation, and the field that it sets. The reader, the
//! JSON Schema and the tables of `docs/plan-keys.md` use these tables. A new key is an entry in a table and a field of what it is
//! read into.

mod commands;
mod factors;
mod faults;
mod host;
mod hosts;
mod kernels;
mod key;
mod known;
mod levels;
mod list;
mod plan;
mod published;
mod servers;
mod soak;
mod targets;
#[cfg(test)]
mod tests;
mod values;

pub(super) use faults::FAULT;
pub(super) use hosts::HOST;
pub(super) use kernels::KERNEL;
pub(super) use key::{Key, Kind, Presence, Shape, apply};
pub(super) use known::Known;
pub use list::{KeyInWords, plan_keys};
pub(super) use plan::{PLAN, RENAMED};
pub(super) use published::{CLAIM, EXCLUSION, PUBLISHED, PUBLISHED_VALUE};
pub(super) use servers::EXTERNAL;
pub(super) use soak::SOAK;
