use std::borrow::Cow;

/// What a document refers to with an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An image, a script, a font: got with the page, and not searched.
    Object,
    /// A style sheet, which may refer to more.
    StyleSheet,
    /// The document of a frame, which may refer to more.
    Frame,
    /// The base of all relative addresses that follow; nothing to be got.
    Base,
}

/// An address in a document, as it stands there, with its escapes resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Find<'a> {
    /// What for.
    pub kind: Kind,
    /// The address, absolute or relative, and not checked in any way.
    pub address: Cow<'a, [u8]>,
}
