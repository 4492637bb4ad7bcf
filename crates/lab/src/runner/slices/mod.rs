//! Cells measured in slices: their servers stay up side by side and are loaded in turn, for a short time each.
//!
//! Noise of a shared machine comes in bursts longer than a slice, so neighbouring slices see the same machine, and their ratio varies
//! less than that of two runs. Slices cannot average out the layout of one process: where its memory is, which connections share a
//! bucket. So every *generation* starts new servers and a new load generator, and generations, not slices, are the statistical
//! sample.
//!
//! A group has the cells that are compared with each other, and an A/A control of their baseline. A generation starts the servers of
//! a group, opens all connections from one load generator (so that its layout favours no server), warms up each server, and then
//! runs rounds of slices in orders that cancel position and drift.

mod arm;
mod figures;
mod generation;
mod group;
mod neighbours;
#[cfg(test)]
mod tests;

pub(super) use generation::{Generation, Request, SLICE_S, parts, run};
pub(super) use group::{Group, Member, families, groups};
pub(super) use neighbours::{Neighbours, sentence as neighbours_sentence};
