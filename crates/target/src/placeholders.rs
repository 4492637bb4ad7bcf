//! Words in braces.

/// Placeholders that the lab fills in when it starts a server.
const OF_THE_LAB: &[&str] = &["address", "port", "dir", "cpus", "cpu-count", "root"];
/// Placeholders for paths of this machine.
const OF_THE_MACHINE: &[&str] = &["program", "home"];
/// The placeholder for the file that a page needs, in texts for that page.
pub(crate) const MODULE: &str = "module";

/// Whether this name is not allowed for a setting.
pub(crate) fn is_reserved(name: &str) -> bool {
    OF_THE_LAB.contains(&name) || OF_THE_MACHINE.contains(&name) || name == MODULE
}

/// All placeholders of a command, including these of the target.
pub(crate) fn known<'a>(own: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    OF_THE_LAB.iter().chain(OF_THE_MACHINE).copied().chain(own).collect()
}

/// The words in braces that could be placeholders.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).filter_map(|part| {
        let word = &part[..part.find('}')?];
        let is_word = word.starts_with(|c: char| c.is_ascii_lowercase())
            && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        is_word.then_some(word)
    })
}
