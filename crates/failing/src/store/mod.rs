//! The stores, each with what a program does to it and how what is left is looked at.

mod contract;
mod host;
mod mail;
mod maildir;
mod run_file;
mod sittings;
mod soak_file;
mod uploads;

pub use contract::{End, Say, Store};

/// All of them.
pub const STORES: &[Store] =
    &[host::STORE, mail::STORE, maildir::STORE, run_file::STORE, soak_file::STORE, uploads::STORE];

/// The store of that name.
pub fn find(name: &str) -> Option<&'static Store> {
    STORES.iter().find(|store| store.name == name)
}
