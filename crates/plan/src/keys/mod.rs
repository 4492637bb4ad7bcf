//! The keys of a plan, each written down once.
//!
//! An entry of a table says what a key is called, what it takes and within which bounds, whether it has a default, what
//! it means, and where its value goes. The reader applies the tables; the JSON Schema and the tables of
//! `docs/plan-keys.md` are made of them. A new key is an entry in a table, and a field of what it is read into.

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
pub(super) use published::{EXCLUSION, PUBLISHED, PUBLISHED_VALUE};
pub(super) use servers::EXTERNAL;
pub(super) use soak::SOAK;
