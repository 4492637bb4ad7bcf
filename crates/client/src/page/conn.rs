use super::found::Found;

/// What a reply is searched for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Search {
    /// Nothing.
    #[default]
    Nothing,
    /// What belongs to a page, if it is one.
    Html,
    /// What belongs to a style sheet.
    Css,
}

/// A connection of a browser. It carries one request at a time.
pub trait PageConn {
    /// The next request is for this path, and not for a page of the run's requests.
    fn aim(&mut self, target: &[u8], search: Search);

    /// What the last complete reply said.
    fn found(&mut self) -> &mut Found;
}
