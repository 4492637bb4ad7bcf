//! The pages that a scene is drawn for.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    /// At least 760 pixels wide.
    Wide,
    /// Narrower.
    Phone,
}
