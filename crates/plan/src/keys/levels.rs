//! Selections of levels in a plan.

use crate::host::{is_here, setting_of};
use crate::levels::Levels;
use crate::nearest::nearest;
use crate::source::{Item, PlanError, Section};
use crate::value::Value;

use super::known::Known;

/// Which levels must be levels of the plan.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Strict {
    /// Every level.
    All,
    /// Every level, or one that was left out: what names it has no effect.
    OrLeftOut,
    /// The same of words, but not of numbers: published figures may be for other numbers.
    Words,
}

/// Reads the levels in a table that also has the keys `others`.
pub(super) fn levels(
    section: &Section<'_>,
    others: &[&str],
    known: &Known<'_>,
    strict: Strict,
) -> Result<Levels, PlanError> {
    let factors = &known.factors;
    let mut result = Levels::default();
    for item in section.flat_items() {
        if others.iter().any(|o| item.key == *o || item.key.starts_with(&format!("{o}."))) {
            continue;
        }
        let Some((factor, span)) = factors.iter().zip(&known.factor_spans).find(|(f, _)| f.name == item.key)
        else {
            return Err(unknown_factor(&item, others, known));
        };
        let wanted = item.list().unwrap_or_else(|_| vec![item.clone()]);
        let left_out = known.left_out.iter().find(|left_out| left_out.name == item.key);
        let left_out = left_out.filter(|_| strict != Strict::All).map(|factor| &factor.levels);
        let known = factor.levels.iter().chain(left_out.into_iter().flatten());
        let known: Vec<String> = known.map(Value::to_string).collect();
        let mut names = Vec::new();
        for level in &wanted {
            let name = level.need_scalar()?.to_string();
            let is_free = strict == Strict::Words && crate::number::number(&name).is_some();
            if !is_free && !known.contains(&name) {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                let mut error = level.unknown_value(&format!("a level of `{}`", item.key), &known);
                let line = item.source.error(span, "", "").line;
                error.fix += &format!(" (levels are on line {line})");
                return Err(error);
            }
            names.push(name);
        }
        result.0.push((item.key.clone(), names));
    }
    Ok(result)
}

/// The error for a selected name that is not a factor. If it is similar to a factor of a host setting, the factor may be the
/// misspelt one: this machine knows which settings exist.
fn unknown_factor(item: &Item<'_>, others: &[&str], known: &Known<'_>) -> PlanError {
    let names: Vec<&str> = known.factors.iter().map(|f| f.name.as_str()).collect();
    let near = nearest(&item.key, names.iter().copied())
        .and_then(|name| names.iter().position(|other| *other == name));
    if let Some(at) = near {
        let (name, span) = (names[at], &known.factor_spans[at]);
        if let (Some(of_factor), Some(selected)) = (setting_of(name), setting_of(&item.key))
            && !is_here(of_factor)
            && is_here(selected)
        {
            let what = format!("this machine has no setting `{of_factor}`");
            return item.source.error(span, what, format!("did you mean `{}`?", item.key));
        }
        let mut error = item.unknown("a factor of this plan", &names);
        error.fix += &format!(" (the factor is on line {})", item.source.error(span, "", "").line);
        return error;
    }
    let words: Vec<&str> = names.into_iter().chain(others.iter().copied()).collect();
    item.unknown("a factor of this plan", &words)
}
