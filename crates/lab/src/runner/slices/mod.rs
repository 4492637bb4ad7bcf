//! Cells measured in slices: their servers are kept up side by side and loaded in turn, for a moment each.
//!
//! Noise of a shared machine comes in bursts that are longer than a slice, so two neighbouring slices meet the same machine
//! and their ratio is steadier than that of two runs. What slices cannot average is the luck of one process: where its memory
//! lies, which connections share a bucket. So servers and load generator are started afresh for every *generation*, and
//! generations, not slices, are the sample of the statistics.
//!
//! A group holds the cells that are compared with each other, and a twin of their baseline as a control. A generation
//! starts fresh servers for a group, opens all connections from one load generator (so that its own luck belongs to no
//! server), warms each, and then runs rounds of slices in orders that cancel position and drift.

mod arm;
mod figures;
mod generation;
mod group;
mod neighbours;
#[cfg(test)]
mod tests;

pub(super) use generation::{Generation, Request, SLICE_S, run};
pub(super) use group::{Group, Member, families, groups};
pub(super) use neighbours::{Neighbours, sentence as neighbours_sentence};
