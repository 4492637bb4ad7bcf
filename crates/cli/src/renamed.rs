//! Renamed options. The old names are still parsed, so that the error can name the new one.

/// Old and new names, without dashes.
const RENAMED: &[(&str, &str)] = &[("disk-told", "disk-notify"), ("told", "notify")];

/// The new name of a renamed option.
pub(crate) fn new_name(old: &str) -> Option<&'static str> {
    RENAMED.iter().find(|(name, _)| *name == old).map(|(_, new)| *new)
}

/// The error for an old name, used by its value parser.
pub(crate) fn refusal(old: &str) -> String {
    new_name(old).map_or_else(String::new, |new| format!("`--{old}` is now called `--{new}`"))
}
