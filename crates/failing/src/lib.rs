//! For tests: every store under failing calls, kills and power cuts.
//!
//! A program ([`store::STORES`], started by `main.rs`) uses a store as Pitot does and says what was acknowledged. It is traced, so that
//! each of its calls that touch the store's directory can fail ([`record`]). From the record of a run without a fault follow
//! the disks that a power cut may leave ([`power`], [`disk`]). After each fault, and on each such disk, the store is
//! opened again by its own code: what was acknowledged must be there, and it must go on ([`proof`]).
#![forbid(unsafe_code)]

pub mod disk;
#[cfg(target_arch = "x86_64")]
pub mod power;
#[cfg(target_arch = "x86_64")]
pub mod proof;
#[cfg(target_arch = "x86_64")]
pub mod record;
pub mod store;
