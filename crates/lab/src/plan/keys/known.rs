//! What is known while a plan is read: the catalog, and what the keys before this one have declared.

use std::ops::Range;

use crate::catalog::{Catalog, ProgramWord};
use crate::plan::host::SettingSet;
use crate::plan::levels::Factor;
use crate::plan::options::Side;
use crate::plan::server::ServerSpec;

/// What later keys are checked against.
pub(in crate::plan) struct Known<'a> {
    pub(in crate::plan) catalog: &'a Catalog,
    /// What runs in place of `pitot load`.
    pub(in crate::plan) program: Option<&'a ProgramWord>,
    /// Servers that the plan describes.
    pub(in crate::plan) servers: Vec<ServerSpec>,
    /// Sets of settings of the host.
    pub(in crate::plan) settings: Vec<SettingSet>,
    /// Names of hosts that the plan describes.
    pub(in crate::plan) hosts: Vec<String>,
    pub(in crate::plan) factors: Vec<Factor>,
    /// Where the names of the factors stand, in their order.
    pub(in crate::plan) factor_spans: Vec<Range<usize>>,
    /// The plan's metric.
    pub(in crate::plan) metric: String,
}

impl<'a> Known<'a> {
    pub(in crate::plan) fn load_side(&self) -> Side<'a> {
        self.program.map_or(Side::Load, Side::Program)
    }
}
