use std::borrow::Cow;

/// The kind of a reference in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An image, script or font: loaded with the page, and not searched.
    Object,
    /// A style sheet, which may refer to more.
    StyleSheet,
    /// The document of a frame, which may refer to more.
    Frame,
    /// The base of all relative addresses that follow; not loaded.
    Base,
}

/// An address in a document, as written there, with its escapes resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Find<'a> {
    /// Its kind.
    pub kind: Kind,
    /// The address, absolute or relative, not validated.
    pub address: Cow<'a, [u8]>,
}
