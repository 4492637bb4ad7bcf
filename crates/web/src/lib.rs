//! `pitot web`: runs and soaks as pages of a local server, also while they are measured.
//!
//! Every page is a [`Document`](pitot_report::document::Document) of `report`, or a report itself, which the renderer of HTML shows. The
//! run file is the only channel to what is being measured: a page that is open follows the file, whoever writes it, and however that was
//! started. So nothing here can disturb a run but by the CPU time it takes, which is bounded (`shelf`).
//!
//! | module | what |
//! |---|---|
//! | `shelf` | the known files: their digests for the list, and the last few that were opened |
//! | `list`, `pages` | pages as documents |
//! | `progress` | how much of a run or soak is done |
//! | `live` | events for open pages: each file is read once for all viewers |
//! | `tls` | connections over TLS |
//! | `guard` | who may see and stop: host, token, cookie |
//! | `stop` | a process of its own that interrupts runs, since the server itself is confined |
//! | `router` | requests and replies |
//!
//! The server opens nothing by a path of a request. It looks the name up among the files that it found itself.
#![forbid(unsafe_code)]

mod guard;
mod list;
mod live;
mod pages;
mod progress;
mod query;
mod router;
mod run;
mod shelf;
mod stop;
mod tls;

pub use run::{WebPlan, run};
