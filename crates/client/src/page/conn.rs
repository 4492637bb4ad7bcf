use super::found::Found;

/// The kind of content to search a reply for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Search {
    /// Nothing.
    #[default]
    Nothing,
    /// The parts of a page, if it is one.
    Html,
    /// The parts of a style sheet.
    Css,
}

/// A connection of a browser. It carries one request at a time.
pub trait PageConn {
    /// The next request is for this path, not for a page of the run's requests.
    fn aim(&mut self, target: &[u8], search: Search);

    /// The addresses in the last complete reply.
    fn found(&mut self) -> &mut Found;
}
