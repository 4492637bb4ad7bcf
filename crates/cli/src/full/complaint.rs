//! What another process of this program said was wrong.

/// What a `pitot` said was wrong, of all that it printed to standard error: without the remedy, which is indented.
pub(super) fn complaint(stderr: &[u8]) -> Option<String> {
    let said = String::from_utf8_lossy(stderr);
    let line = |is_it: fn(&&str) -> bool| said.lines().rev().find(is_it);
    let own = line(|line| line.starts_with("pitot: ") || line.starts_with("error: "));
    let found = own.or_else(|| line(|line| !line.trim().is_empty()))?;
    Some(found.trim().trim_start_matches("pitot: ").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_is_what_was_wrong_and_not_how_to_fix_it() {
        let said = |text: &str| complaint(text.as_bytes());
        assert_eq!(said("note: x\npitot: no `nginx`\n  install it\n").as_deref(), Some("no `nginx`"));
        assert_eq!(
            said("error: unexpected `-x`\n\nUsage: pitot\n").as_deref(),
            Some("error: unexpected `-x`")
        );
        assert_eq!((said("killed\n\n").as_deref(), said("\n")), (Some("killed"), None));
    }
}
