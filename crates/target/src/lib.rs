//! Targets: known servers of other projects.
//!
//! A target is a file of data, `targets/NAME.toml`: its program, its configuration as a template, its settings with defaults, how to
//! start it, detect that it is ready and stop it, what it cannot serve, and how to install it. A folder of the same name has programs
//! of some targets. These files are embedded in the binary, and users can add their own ([`Registry`]).
//!
//! Nothing here starts a server: the lab turns a target into a table `[servers.NAME]` of a plan. Only
//! [`install`](crate::Installation) starts programs.
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
