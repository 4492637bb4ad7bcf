//! The requests of a run: from the options about them, or from a file.

mod body;
mod from_options;

pub(crate) use from_options::{Requests, requests};
