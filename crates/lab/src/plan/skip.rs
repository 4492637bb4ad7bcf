//! Combinations of levels that are not measured, and why.

use super::levels::FactorLevel;

/// A combination of levels that did not become a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct SkipRecord {
    /// The levels.
    pub factors: Vec<FactorLevel>,
    /// Why: a sentence.
    pub reason: String,
    /// What kind of reason it is.
    pub kind: SkipKind,
}

/// Why a combination of levels did not become a cell, as far as code asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkipKind {
    /// The plan excludes it, or this machine or version lacks something. In a run file every reason is a sentence alone.
    Other,
    /// Its server cannot serve the page that is asked for.
    Page,
    /// A setting of the host cannot be set here.
    Setting,
}

impl SkipKind {
    /// What to do where the cell has to be measured.
    pub fn cure(self) -> &'static str {
        match self {
            SkipKind::Page => {
                "ask for another page, or leave the server out; `pitot list targets --format json` says what each cannot serve"
            }
            SkipKind::Setting => "`pitot host check` shows what can be set here",
            SkipKind::Other => "install what is missing, or leave the server out",
        }
    }
}

/// Why there is no cell.
pub(super) struct NoCell {
    pub(super) kind: SkipKind,
    pub(super) reason: String,
}

impl NoCell {
    pub(super) fn of_page(reason: String) -> NoCell {
        NoCell { kind: SkipKind::Page, reason }
    }
}

impl<T: Into<String>> From<T> for NoCell {
    fn from(reason: T) -> NoCell {
        NoCell { kind: SkipKind::Other, reason: reason.into() }
    }
}
