//! Refuses misspelt placeholders such as `{adress}`.
//!
//! Other programs use braces too, so an unknown word is refused only in a URL, or if it is nearly a placeholder.

use toml::de::DeTable;

use super::source::{Item, PlanError, Section, Source};
use crate::nearest::nearest;

/// Placeholders in commands, options and variables.
const COMMON: &[&str] = &["address", "port", "dir", "cpus", "plan", RESOLVER];
/// The placeholder for the resolver's address, in plans with DNS faults.
pub const RESOLVER: &str = "resolver";
/// Additional placeholders in URLs.
const OF_URLS: &[&str] = &["size", "request-id"];

/// # Errors
/// The first unknown placeholder.
pub(super) fn check(source: Source<'_>, table: &DeTable<'_>) -> Result<(), PlanError> {
    let root = Section::root(source, table);
    let helpers: Vec<String> = match root.get("helpers") {
        Some(item) => item.section("`helpers`")?.items().into_iter().map(|helper| helper.key).collect(),
        None => Vec::new(),
    };
    let helpers: Vec<&str> = helpers.iter().map(String::as_str).collect();
    for (table, helpers) in [("server", &[][..]), ("load", &helpers[..])] {
        if let Some(item) = root.get(table) {
            for option in item.section(table)?.items() {
                check_item(&option, &option.key, helpers)?;
            }
        }
    }
    for table in ["servers", "helpers"] {
        let Some(item) = root.get(table) else { continue };
        for one in item.section(table)?.items() {
            for key in one.section(table)?.flat_items() {
                // Files may contain other braces.
                if key.key != "files" && !key.key.starts_with("files.") {
                    check_item(&key, &key.key, &[])?;
                }
            }
        }
    }
    let Some(factors) = root.get("factors") else { return Ok(()) };
    for factor in factors.section("factors")?.flat_items() {
        match factor.key.split_once('.') {
            Some(("load", option)) => check_item(&factor, option, &helpers)?,
            Some((_, option)) => check_item(&factor, option, &[])?,
            None => {}
        }
    }
    Ok(())
}

/// Checks a text, or each text of a list.
fn check_item(item: &Item<'_>, key: &str, helpers: &[&str]) -> Result<(), PlanError> {
    let elements = item.list().unwrap_or_else(|_| vec![item.clone()]);
    for element in elements {
        let Ok(text) = element.text() else { continue };
        let is_url = key == "url";
        let mut known = [COMMON, helpers].concat();
        if is_url {
            known.extend(OF_URLS);
        }
        for word in words(&text) {
            let near = nearest(word, known.iter().copied());
            if known.contains(&word) || (near.is_none() && !is_url) {
                continue;
            }
            let what =
                format!("`{{{word}}}` is not a placeholder of {}", if is_url { "URLs" } else { "plans" });
            let fix = match near {
                Some(near) => format!("did you mean `{{{near}}}`?"),
                None => format!("known: {{{}}}", known.join("}, {")),
            };
            return Err(element.error(what, fix));
        }
    }
    Ok(())
}

/// The words in braces that could be placeholders: no ranges, no JSON.
fn words(text: &str) -> Vec<&str> {
    let inside = |part: &'_ str| -> Option<usize> {
        let end = part.find('}')?;
        let word = &part[..end];
        let is_word = word.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
            && word.starts_with(|c: char| c.is_ascii_alphabetic());
        is_word.then_some(end)
    };
    text.split('{').skip(1).filter_map(|part| inside(part).map(|end| &part[..end])).collect()
}

#[cfg(test)]
mod tests {
    use super::words;
    use crate::Plan;
    use crate::tests::catalog;

    #[test]
    fn only_words_in_braces_are_placeholders() {
        assert_eq!(words("http://{address}/{0..9}/{size}"), ["address", "size"]);
        assert_eq!(words("{\"a\": {b}} {} {x y} {"), ["b"]);
    }

    fn refusal(lines: &str) -> String {
        let text = format!("[server]\nprotocol = \"http\"\n{lines}\n");
        match Plan::parse("p.toml", &text, &catalog()) {
            Ok(_) => String::new(),
            Err(error) => format!("{error}; {}", error.fix),
        }
    }

    #[test]
    fn a_placeholder_that_nothing_replaces_is_told_with_its_place() {
        let factors = "[factors]\nserver = [\"loop\"]";
        let of = refusal(&format!("{factors}\n[load]\nurl = \"http://{{adress}}/\""));
        assert!(of.starts_with("p.toml:6:7: `{adress}` is not a placeholder of URLs"), "{of}");
        assert!(of.contains("did you mean `{address}`?"), "{of}");
        let of = refusal(&format!("{factors}\n[load]\nurl = \"http://{{address}}/{{what}}\""));
        assert!(of.contains("`{what}`") && of.contains("known: {address}"), "{of}");
        let own = |command: &str| {
            refusal(&format!(
                "[factors]\nserver = [\"own\"]\n[servers.own]\nurl = \"http://{{address}}/\"\ncommand = {command}"
            ))
        };
        assert!(own("[\"./own\", \"{Port}\"]").contains("did you mean `{port}`?"));
        assert_eq!(own("[\"awk\", \"{print}\", \"{{address}}\", \"{port}\"]"), "", "the braces of others");
        let of =
            refusal("[factors]\nserver = [\"loop\"]\nload.url = [\"http://{address}/\", \"http://{addr}/\"]");
        assert!(of.starts_with("p.toml:5:"), "{of}");
    }
}
