//! Changes the value of one key in a plan's text and leaves the rest as its author wrote it.

use pitot_results::Failure;
use toml::de::{DeTable, DeValue};

use crate::written::toml_string;

/// The plan `text` with `change`, which is `KEY=VALUE`; a key such as `load.connections` is dotted. If the key is a factor,
/// the value is a list of levels: `64,256`. Those that it had before are kept in `left-out`, since rules of the plan may name
/// them.
///
/// # Errors
/// If `change` has no `=`, or the text has no place for the key. Whether plans have such a key is not checked here.
pub fn with_change(text: &str, change: &str) -> Result<String, Failure> {
    let refuse = |what: String| {
        Failure::misuse(
            what,
            "write KEY=VALUE with a key of plans (docs/plans.md), such as load.connections=64,256",
        )
    };
    let (key, value) = change.split_once('=').ok_or_else(|| refuse(format!("`{change}` has no `=`")))?;
    let (key, value) = (key.trim(), value.trim());
    let path: Vec<&str> = key.split('.').collect();
    let is_word =
        |word: &&str| !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-_+".contains(c));
    if !path.iter().all(is_word) {
        return Err(refuse(format!("`{key}` is not a key of a plan")));
    }
    // Errors in the text are reported when it is read as a plan.
    let Ok(plan) = DeTable::parse(text) else { return Ok(text.to_owned()) };
    let changed = match place(text, plan.get_ref(), &path) {
        Some((at, true)) => {
            leaving_out(&replaced(text, at.clone(), &levels(value, &text[at.clone()])), &path, &text[at])
        }
        Some((at, false)) => replaced(text, at, &spelled(value)),
        None => inserted(text, &path, &spelled(value)),
    };
    let is_there =
        DeTable::parse(&changed).is_ok_and(|plan| place(&changed, plan.get_ref(), &path).is_some());
    is_there.then_some(changed).ok_or_else(|| refuse(format!("`{key}` cannot be set in this plan")))
}

/// The place of a key's value, and whether it is the levels of a factor.
fn place(text: &str, plan: &DeTable<'_>, path: &[&str]) -> Option<(std::ops::Range<usize>, bool)> {
    let factors = plan.get("factors").and_then(|factors| factors.get_ref().as_table());
    let factor = factors.and_then(|factors| {
        let quoted = factors.get(path.join(".").as_str()).map(|value| value.span());
        quoted.or_else(|| value_at(text, factors, path))
    });
    let factor = factor.map(|at| (at, true));
    factor.or_else(|| value_at(text, plan, path).map(|at| (at, false)))
}

/// The place of a key's value that is not a table with a header.
fn value_at(text: &str, table: &DeTable<'_>, path: &[&str]) -> Option<std::ops::Range<usize>> {
    let (first, rest) = path.split_first()?;
    let value = table.get(*first)?;
    match (value.get_ref(), rest) {
        (DeValue::Table(inner), [_, ..]) => value_at(text, inner, rest),
        (DeValue::Table(_), []) if !text[value.span()].starts_with('{') => None,
        (_, [_, ..]) => None,
        (_, []) => Some(value.span()),
    }
}

fn replaced(text: &str, at: std::ops::Range<usize>, value: &str) -> String {
    format!("{}{value}{}", &text[..at.start], &text[at.end..])
}

/// A plan with the levels that its factor at `path` had, unless an earlier change has kept them.
fn leaving_out(text: &str, path: &[&str], levels: &str) -> String {
    // In quotes, as a factor may have the name of another's table: `server` and `server.workers`.
    let name = path.join(".");
    let has_some =
        DeTable::parse(text).is_ok_and(|plan| value_at(text, plan.get_ref(), &["left-out", &name]).is_some());
    if has_some { text.to_owned() } else { inserted(text, &["left-out", &toml_string(&name)], levels) }
}

/// The text with a new key, below the header of its table, which is added if it is missing.
fn inserted(text: &str, path: &[&str], value: &str) -> String {
    let Some((key, [])) = path.split_last().map(|(key, table)| (*key, table)) else {
        let (key, table) = (path[path.len() - 1], path[..path.len() - 1].join("."));
        let head = format!("[{table}]");
        let is_head = |line: &str| line.split('#').next().unwrap_or_default().trim() == head;
        let mut end = 0;
        for line in text.split_inclusive('\n') {
            end += line.len();
            if is_head(line) {
                return format!("{}\n{key} = {value}\n{}", text[..end].trim_end_matches('\n'), &text[end..]);
            }
        }
        return format!("{}\n\n{head}\n{key} = {value}\n", text.trim_end());
    };
    format!("{key} = {value}\n{text}")
}

/// A value as TOML: unchanged if it is TOML already, else quoted.
fn spelled(value: &str) -> String {
    match DeTable::parse(&format!("v = {value}")) {
        Ok(table) if table.get_ref().len() == 1 => value.to_owned(),
        _ => toml_string(value),
    }
}

/// The levels of a factor, from a comma-separated or a TOML list. They are texts if those `before` are, such as versions.
fn levels(value: &str, before: &str) -> String {
    if value.starts_with('[') {
        return spelled(value);
    }
    let is_text = |text: &str| text.starts_with(['"', '\'']);
    let are_texts = is_text(before.trim_start_matches(['[', ' ', '\n']));
    let spell = |level: &str| if are_texts && !is_text(level) { toml_string(level) } else { spelled(level) };
    let levels: Vec<String> = value.split(',').map(|level| spell(level.trim())).collect();
    format!("[{}]", levels.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "# A plan.\nduration = \"2s\" # short\n\n[load]\nurl = \"http://{address}/\"\n\n[factors]\nserver = [\"loop\"]\n\
                        load.connections = [64, 512] # both\n";

    fn changed(change: &str) -> String {
        with_change(PLAN, change).unwrap()
    }

    #[test]
    fn a_value_is_replaced_and_the_rest_stays() {
        assert_eq!(changed("duration=500ms"), PLAN.replace("2s", "500ms"));
        let plan = format!("baseline = {{ server = \"a\" }}\n{PLAN}");
        let with = plan.replace("server = \"a\"", "load.connections = 64");
        assert_eq!(with_change(&plan, "baseline={ load.connections = 64 }").unwrap(), with);
    }

    #[test]
    fn levels_are_replaced_and_those_before_are_kept_once() {
        let kept = "\n[left-out]\n\"load.connections\" = [64, 512]\n";
        let with = |levels| PLAN.replace("[64, 512]", levels) + kept;
        assert_eq!(changed("load.connections=16"), with("[16]"));
        assert_eq!(changed("load.connections = 16, 32"), with("[16, 32]"));
        assert_eq!(with_change(&with("[16]"), "load.connections=32").unwrap(), with("[32]"));
        let servers =
            PLAN.replace("\"loop\"", "\"thread\", \"loop+poll\"") + "\n[left-out]\n\"server\" = [\"loop\"]\n";
        assert_eq!(changed("server=thread,loop+poll"), servers);
        let kernels = "[factors]\nkernel = [ \"6.1\"]\n";
        for change in ["kernel=6.10", "kernel=\"6.10\""] {
            assert!(with_change(kernels, change).unwrap().contains("kernel = [\"6.10\"]"));
        }
        let quoted = PLAN.replace("load.connections", "\"load.connections\"");
        let with = quoted.replace("[64, 512]", "[1]") + kept;
        assert_eq!(with_change(&quoted, "load.connections=[1]").unwrap(), with);
    }

    #[test]
    fn a_key_that_is_missing_is_put_where_it_belongs() {
        assert_eq!(changed("repetitions=3"), format!("repetitions = 3\n{PLAN}"));
        assert_eq!(changed("load.threads=2"), PLAN.replace("[load]\n", "[load]\nthreads = 2\n"));
        assert_eq!(changed("load.header=A: b"), PLAN.replace("[load]\n", "[load]\nheader = \"A: b\"\n"));
        assert_eq!(changed("server.workers=2"), format!("{PLAN}\n[server]\nworkers = 2\n"));
        assert_eq!(changed("tolerance=2%"), format!("tolerance = \"2%\"\n{PLAN}"));
    }

    #[test]
    fn what_is_no_change_is_refused() {
        for change in ["duration", "=3", "load.=3", "a b=3", "load=3", "duration.x=3"] {
            let failure = with_change(PLAN, change).unwrap_err();
            assert_eq!(failure.exit_code(), 2, "{change}");
        }
        // A value cannot add keys of its own.
        assert_eq!(changed("title=1\nx = 2"), format!("title = \"1\\nx = 2\"\n{PLAN}"));
    }
}
