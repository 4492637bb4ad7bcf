//! Selections of levels in a plan.

use crate::plan::levels::{Factor, Levels};
use crate::plan::source::{PlanError, Section};
use crate::plan::value::Value;

/// How far levels must be those of the plan.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::plan) enum Strict {
    /// Every level.
    All,
    /// Words, but not numbers: others have measured with other numbers.
    Words,
}

/// The levels in a table that also has the keys `others`.
pub(super) fn levels(
    section: &Section<'_>,
    others: &[&str],
    factors: &[Factor],
    strict: Strict,
) -> Result<Levels, PlanError> {
    let mut result = Levels::default();
    for item in section.flat_items() {
        if others.iter().any(|o| item.key == *o || item.key.starts_with(&format!("{o}."))) {
            continue;
        }
        let Some(factor) = factors.iter().find(|f| f.name == item.key) else {
            let known: Vec<&str> =
                factors.iter().map(|f| f.name.as_str()).chain(others.iter().copied()).collect();
            return Err(item.unknown("a factor of this plan", &known));
        };
        let wanted = item.list().unwrap_or_else(|_| vec![item.clone()]);
        let known: Vec<String> = factor.levels.iter().map(Value::to_string).collect();
        let mut names = Vec::new();
        for level in &wanted {
            let name = level.need_scalar()?.to_string();
            let free = strict == Strict::Words && crate::units::number(&name).is_some();
            if !free && !known.contains(&name) {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                return Err(level.unknown_value(&format!("a level of `{}`", item.key), &known));
            }
            names.push(name);
        }
        result.0.push((item.key.clone(), names));
    }
    Ok(result)
}
