//! Faults of a server under load, and how they are undone.
//!
//! A fault is an entry of [`FAULTS`]: its name, target, options, requirements, and how it is made. Most are made by a program, `pitot
//! fault NAME` ([`carry_out`]), which makes the fault, holds it, and undoes it. Before each change it records how to undo it
//! ([`Undo`]) with a guardian process, which undoes everything when the program ends *in any way*: there is only one way back, also
//! after a kill -9. The notes are also in the host's journal, so that `pitot host undo` undoes ([`take_back`]) what is left if the
//! guardian was killed too.
//!
//! A [`Schedule`] says when faults are made, a [`FaultRecord`] what happened, and [`Effect`] how clients were affected. They do not
//! depend on the lab, so runs and soaks share them.
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
