//! Trade: an online brokerage, end to end, after the benchmark application of that name.
//!
//! It measures the whole stack and not the loop: pages, sessions and transactions, on a common stack (axum on tokio, SQLite or
//! PostgreSQL). An **action** of a user is plain data ([`action::Action`]). It is performed once for both databases over a trait
//! with one method ([`transaction::Transaction`]), in one transaction. The outcome is plain data again, from which a page or JSON
//! is written (`web`).
//!
//! Money is counted in whole cents. Every change of a balance belongs to an order, so it can be recomputed from the tables at any
//! time ([`audit`]).
#![forbid(unsafe_code)]

pub mod action;
pub mod audit;
pub mod cluster;
mod guardian;
mod perform;
mod plan;
pub mod population;
mod queue;
mod random;
mod run;
mod stats;
pub mod store;
pub mod transaction;
mod web;

pub use plan::{Database, Isolation, Orders, TradePlan};
pub use run::{Summary, audit_of, run};
