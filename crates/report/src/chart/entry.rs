//! What a chart consists of.

use crate::analysis::Analysis;
use crate::scene::Figure;

/// A kind of chart.
#[derive(Debug)]
pub struct Chart {
    /// The name in plans.
    pub name: &'static str,
    /// Its heading in a report.
    pub title: &'static str,
    /// How to read it.
    pub summary: &'static str,
    pub(crate) draw: fn(&Analysis<'_>) -> Option<Figure>,
}
