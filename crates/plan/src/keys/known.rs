//! The state while a plan is read: the catalog, and what earlier keys have declared.

use std::ops::Range;

use crate::catalog::{Catalog, ProgramWord};
use crate::host::SettingSet;
use crate::levels::Factor;
use crate::options::Side;
use crate::server::ServerSpec;

/// What later keys are checked against.
pub(crate) struct Known<'a> {
    pub(crate) catalog: &'a Catalog,
    /// The program that runs instead of `pitot load`.
    pub(crate) program: Option<&'a ProgramWord>,
    /// Servers that the plan describes.
    pub(crate) servers: Vec<ServerSpec>,
    /// Sets of settings of the host.
    pub(crate) settings: Vec<SettingSet>,
    /// Names of hosts that the plan describes.
    pub(crate) hosts: Vec<String>,
    pub(crate) factors: Vec<Factor>,
    /// The positions of the factors' names, in their order.
    pub(crate) factor_spans: Vec<Range<usize>>,
    /// Levels that a copy of the plan has no more.
    pub(crate) left_out: Vec<Factor>,
    /// The plan's metric.
    pub(crate) metric: String,
}

impl<'a> Known<'a> {
    pub(crate) fn load_side(&self) -> Side<'a> {
        self.program.map_or(Side::Load, Side::Program)
    }
}
