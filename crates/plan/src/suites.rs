//! The built-in plans: the files of the folder `suites`, embedded.

use crate::catalog::Catalog;
use crate::definition::Plan;
use crate::source::PlanError;

/// A built-in plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suite {
    /// Its name: the file's, without its ending.
    pub name: &'static str,
    /// The plan as its author wrote it.
    pub text: &'static str,
}

/// All suites, by name.
pub static SUITES: &[Suite] = include!(concat!(env!("OUT_DIR"), "/suites.rs"));

/// Suites that were renamed: the old name and the new one.
pub const RENAMED_SUITES: &[(&str, &str)] = &[("kept", "durability"), ("kept-mail", "durability-mail")];

/// The suite of that name.
pub fn suite(name: &str) -> Option<&'static Suite> {
    SUITES.iter().find(|s| s.name == name)
}

impl Suite {
    /// The plan.
    ///
    /// # Errors
    /// If the catalog lacks a word that the suite uses.
    pub fn plan(&self, catalog: &Catalog) -> Result<Plan, PlanError> {
        Plan::parse(&format!("{}.toml", self.name), self.text, catalog)
    }
}
