//! Options that have a new name. The old one is still parsed, so that the refusal can name the new one.

/// Old and new names, without dashes.
const RENAMED: &[(&str, &str)] = &[("disk-told", "disk-notify"), ("told", "notify")];

/// The new name of an option, if it had another one.
pub(crate) fn new_name(old: &str) -> Option<&'static str> {
    RENAMED.iter().find(|(name, _)| *name == old).map(|(_, new)| *new)
}

/// The refusal of the old name, for its value parser.
pub(crate) fn refusal(old: &str) -> String {
    new_name(old).map_or_else(String::new, |new| format!("`--{old}` is now called `--{new}`"))
}
