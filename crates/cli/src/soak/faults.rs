//! The faults of a soak, and when they are made.

use pitot_fault::{FaultPlan, Moment, schedule_of_soak};
use pitot_lab::{Catalog, Plan};
use pitot_results::Failure;
use pitot_soak::run::SubjectOrder;

use crate::words;

/// Gives each server the faults that are to be made to it in `asked_s` seconds: all alike, but those that `is_due` leaves out as
/// they were made before the soak was resumed. It takes the number of a server, from 1.
pub(super) fn plan(
    plan: &Plan,
    asked_s: f64,
    is_due: &dyn Fn(i64, &Moment) -> bool,
    orders: &mut [SubjectOrder<'_>],
) {
    let all = schedule_of_soak(&plan.faults, plan.seed.unwrap_or_default(), asked_s);
    for (subject, order) in (1..).zip(orders) {
        order.faults = all.iter().filter(|moment| is_due(subject, moment)).copied().collect();
    }
}

/// A plan that lacks nothing but faults.
const PLAN: &str = "[server]\nprotocol = \"http\"\n[load]\n[factors]\nserver = [\"loop\"]\n[soak]\n";

/// The faults that the command line asks for.
pub(super) fn asked(lines: &[String], catalog: &Catalog) -> Result<Vec<FaultPlan>, Failure> {
    let mut faults = Vec::new();
    for line in lines {
        let wrong = |what: String, cure: String| Failure::misuse(format!("--fault '{line}': {what}"), cure);
        let words = words::split(line, &[]).map_err(|flaw| {
            wrong(
                flaw.to_string(),
                "close the quotes, or write \\ before a character that is meant as it is".into(),
            )
        })?;
        // Read as a plan is, so that both say the same of a mistake.
        let text = format!(
            "{PLAN}{}",
            table(&words).map_err(|word| {
                wrong(
                    format!("`{word}` is no option with a value"),
                    "write a fault and options such as --for 1s".into(),
                )
            })?
        );
        let plan = Plan::parse("--fault", &text, catalog).map_err(|e| wrong(e.what, e.cure))?;
        faults.extend(plan.faults);
    }
    Ok(faults)
}

/// A table of `faults` with the words of a command line. The error is the word that is none of an option.
fn table(words: &[String]) -> Result<String, String> {
    let (kind, mut rest) = words.split_first().ok_or("")?;
    let mut table = format!("[[faults]]\nkind = {}\n", quoted(kind));
    let mut has_time = false;
    while let [word, following @ ..] = rest {
        let option =
            word.strip_prefix("--").filter(|option| !option.is_empty()).ok_or_else(|| word.clone())?;
        let (name, value, left) = match (option.split_once('='), following) {
            (Some((name, value)), left) => (name, value, left),
            (None, [value, left @ ..]) => (option, value.as_str(), left),
            (None, []) => return Err(word.clone()),
        };
        table.push_str(&line(name, value));
        has_time |= name == "at";
        rest = left;
    }
    if !has_time {
        table.push_str(&line("at", "random"));
    }
    Ok(table)
}

fn line(name: &str, value: &str) -> String {
    format!("{} = {}\n", quoted(name), quoted(value))
}

/// A string of TOML, whose escapes are those of JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<String, String> {
        table(&words::split(line, &[]).map_err(|flaw| flaw.to_string())?)
    }

    #[test]
    fn options_become_a_table_and_a_fault_without_a_time_comes_at_random() {
        let table = of("stop --for 1s --every=10m").unwrap();
        assert_eq!(
            table,
            "[[faults]]\nkind = \"stop\"\n\"for\" = \"1s\"\n\"every\" = \"10m\"\n\"at\" = \"random\"\n"
        );
        assert!(!of("kill --at 30m").unwrap().contains("random"));
        assert_eq!(of("stop now"), Err("now".into()));
        assert_eq!(of("stop --for"), Err("--for".into()));
        assert_eq!(of(""), Err(String::new()));
    }
}
