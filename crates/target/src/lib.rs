//! Targets: servers of others that Pitot knows.
//!
//! A target is a file of data, `targets/NAME.toml`: where its program is found, its configuration as a template, its
//! settings with their defaults, how it is started, is known to be ready and is stopped, what it cannot serve, and how it
//! is installed. A folder of its name holds the programs that some targets run. The folder is embedded in the binary, and
//! users have one of their own ([`Registry`]).
//!
//! Nothing here starts a server: the lab makes of a target what a table `[servers.NAME]` of a plan would say. Only
//! [`install`](crate::Installation) starts programs, those of the ecosystem that the target is from.
#![forbid(unsafe_code)]

mod definition;
mod error;
mod find;
mod install;
mod pages;
mod placeholders;
mod read;
mod registry;

pub use definition::{OnDemand, Ready, Recipe, Stop, Target, TargetFile, TargetSetting};
pub use error::TargetError;
pub use find::{Found, Missing, Places, versions};
pub use install::{Installation, Step};
pub use pages::{DYNAMIC, FILES, PAGES, Page};
pub use read::read;
pub use registry::{Known, Registry};
