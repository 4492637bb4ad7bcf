use pitot_client::Url;

use super::parsed::{Flaw, Parsed};

/// A format of files of requests.
#[derive(Debug)]
pub struct Format {
    /// Its name in options.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Its requests are commands, for the clients that have such.
    pub holds_commands: bool,
    /// Whether a file with this beginning is one.
    pub(super) looks_like: fn(&[u8]) -> bool,
    /// Reads a file for a target.
    pub(super) parse: fn(&[u8], &Url) -> Result<Parsed, Flaw>,
}

impl Format {
    /// Reads a file for a target.
    ///
    /// # Errors
    /// What is wrong with the file, such as that it has no requests.
    pub fn parse(&self, content: &[u8], target: &Url) -> Result<Parsed, Flaw> {
        (self.parse)(content, target)
    }
}

/// The first line that is neither empty nor a comment.
pub(super) fn first_line(content: &[u8]) -> &[u8] {
    let mut lines = content.split(|&b| b == b'\n').map(<[u8]>::trim_ascii);
    lines.find(|line| !line.is_empty() && !line.starts_with(b"#")).unwrap_or_default()
}
