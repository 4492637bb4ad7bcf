//! Faults: what can be done to a server while it is under load, and how it is taken back.
//!
//! A fault is an entry of [`FAULTS`]: a name, what it is aimed at, which options it takes, what it needs of the machine, and
//! how it is made. Most are made by a program of their own, `pitot fault NAME` ([`carry_out`]), which the lab starts as a user
//! could: it makes the fault, holds it for its time, and takes it back. Before each change it notes how to undo it
//! ([`Undo`]) with a guardian process, which undoes everything when the program ends, *by whatever means*: the way back that a
//! kill -9 takes is the one that every run takes. The notes are in the journal of the host as well, so that `pitot host undo`
//! takes back ([`take_back`]) what is left when the guardian was killed too.
//!
//! When faults are made is a [`Schedule`]; what became of one is a [`FaultRecord`], and [`Effect`] is what the clients saw of
//! it. Both know nothing of the lab, so that runs of hours use them as those of seconds do.
#![forbid(unsafe_code)]

mod carry_out;
mod clients;
pub mod commands;
mod effect;
mod entry;
mod faults;
mod options;
mod processes;
pub mod proxy;
mod record;
mod schedule;
mod take_back;
mod undo;

pub use carry_out::{BEGAN, ENDED, carry_out};
pub use effect::{BEFORE_NS, Effect, STEP_NS, Service, service_around};
pub use entry::{Aim, Begun, Fault, Means, Reply};
pub use faults::{FAULTS, can_be_filled, find};
pub use options::{Failing, Given, OPTIONS, Options, Which};
pub use record::FaultRecord;
pub use schedule::{At, FaultPlan, Moment, Schedule, schedule, schedule_of_soak};
pub use take_back::take_back;
pub use undo::Undo;
