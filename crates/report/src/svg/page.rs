//! The pages that a scene is drawn for.

/// The page that a drawing is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    /// At least 760 pixels wide.
    Wide,
    /// Narrower.
    Phone,
}
