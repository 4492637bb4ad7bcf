//! TOML with positions, so that every error reports its line and column.

use std::fmt;
use std::ops::Range;

use pitot_results::Failure;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::value::Value;
use crate::nearest::nearest;

/// What is wrong with a plan, where, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanError {
    /// The plan's file or suite.
    pub name: String,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub fix: String,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.name, self.line, self.column, self.what)
    }
}

impl std::error::Error for PlanError {}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Failure {
        Failure::misuse(error.to_string(), error.fix)
    }
}

/// The text of a plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'a> {
    pub(super) name: &'a str,
    pub(super) text: &'a str,
}

impl Source<'_> {
    pub(super) fn error(
        &self,
        at: &Range<usize>,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) -> PlanError {
        let before = &self.text[..at.start.min(self.text.len())];
        PlanError {
            name: self.name.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before.chars().rev().take_while(|&c| c != '\n').count() + 1,
            what: what.into(),
            fix: fix.into(),
        }
    }
}

/// A table and its position.
#[derive(Clone, Debug)]
pub(super) struct Section<'a> {
    pub(super) source: Source<'a>,
    /// How errors call it: "the plan", "`servers.nginx`".
    pub what: String,
    pub(super) span: Range<usize>,
    table: &'a DeTable<'a>,
}

/// A value, its key and its position.
#[derive(Clone, Debug)]
pub(super) struct Item<'a> {
    pub(super) source: Source<'a>,
    pub(super) key: String,
    pub(super) key_span: Range<usize>,
    value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Section<'a> {
    pub(super) fn root(source: Source<'a>, table: &'a DeTable<'a>) -> Section<'a> {
        Section { source, what: "the plan".into(), span: 0..0, table }
    }

    /// All values in the order of the text.
    pub(super) fn items(&self) -> Vec<Item<'a>> {
        let mut items: Vec<_> = self.table.iter().map(|(key, value)| self.item(key, value)).collect();
        items.sort_by_key(|i| i.key_span.start);
        items
    }

    fn item(&self, key: &'a Spanned<std::borrow::Cow<'a, str>>, value: &'a Spanned<DeValue<'a>>) -> Item<'a> {
        Item { source: self.source, key: key.get_ref().to_string(), key_span: key.span(), value }
    }

    /// All values in the order of the text, nested ones under dotted keys.
    pub(super) fn flat_items(&self) -> Vec<Item<'a>> {
        let mut flat = Vec::new();
        for item in self.items() {
            match item.value.get_ref().as_table() {
                Some(table) => {
                    let inner = Section { table, ..self.clone() };
                    flat.extend(
                        inner
                            .flat_items()
                            .into_iter()
                            .map(|i| Item { key: format!("{}.{}", item.key, i.key), ..i }),
                    );
                }
                None => flat.push(item),
            }
        }
        flat
    }

    pub(super) fn get(&self, key: &str) -> Option<Item<'a>> {
        self.items().into_iter().find(|i| i.key == key)
    }

    /// The value of a required key.
    pub(super) fn need(&self, key: &str, fix: &str) -> Result<Item<'a>, PlanError> {
        self.get(key)
            .ok_or_else(|| self.source.error(&self.span, format!("{} lacks `{key}`", self.what), fix))
    }

    /// An error at a key of the table, or at its start if the table lacks the key.
    pub(super) fn error_at_key(
        &self,
        key: &str,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) -> PlanError {
        let span = self.get(key).map_or(0..0, |item| item.key_span);
        self.source.error(&span, what, fix)
    }

    /// Refuses keys that are not in `known`.
    pub(super) fn check_keys<'k>(&self, known: impl IntoIterator<Item = &'k str>) -> Result<(), PlanError> {
        let known: Vec<&str> = known.into_iter().collect();
        for item in self.items() {
            if !known.contains(&item.key.as_str()) {
                return Err(item.unknown(&format!("a key of {}", self.what), &known));
            }
        }
        Ok(())
    }
}

impl<'a> Item<'a> {
    pub(super) fn span(&self) -> Range<usize> {
        self.value.span()
    }

    /// An error about the value.
    pub(super) fn error(&self, what: impl Into<String>, fix: impl Into<String>) -> PlanError {
        self.source.error(&self.span(), what, fix)
    }

    /// An error about the key.
    pub(super) fn key_error(&self, what: impl Into<String>, fix: impl Into<String>) -> PlanError {
        self.source.error(&self.key_span, what, fix)
    }

    /// The error that the key is not `kind` ("a factor"), with the nearest known one.
    pub(super) fn unknown(&self, kind: &str, known: &[&str]) -> PlanError {
        let what = format!("`{}` is not {kind}", self.key);
        self.key_error(what, did_you_mean(&self.key, known))
    }

    /// The error that the value is not `kind`, with the nearest known one.
    pub(super) fn unknown_value(&self, kind: &str, known: &[&str]) -> PlanError {
        let value = self.scalar().map(|v| v.to_string()).unwrap_or_default();
        self.error(format!("`{value}` is not {kind}"), did_you_mean(&value, known))
    }

    fn wanted(&self, what: &str, fix: &str) -> PlanError {
        let found = match self.value.get_ref() {
            DeValue::String(s) if s.trim().parse::<f64>().is_ok() => format!("the text \"{s}\""),
            DeValue::String(s) => format!("`{s}`"),
            DeValue::Integer(n) => format!("the number {n}"),
            DeValue::Float(x) => format!("the number {x}"),
            DeValue::Boolean(b) => b.to_string(),
            DeValue::Datetime(d) => format!("the date {d}"),
            DeValue::Array(_) => "a list".into(),
            DeValue::Table(_) => "a table".into(),
        };
        self.error(format!("`{}` must be {what}, not {found}", self.key), fix)
    }

    pub(super) fn text(&self) -> Result<String, PlanError> {
        match self.value.get_ref() {
            DeValue::String(s) => Ok(s.to_string()),
            _ => Err(self.wanted("a text", "write it in quotes")),
        }
    }

    pub(super) fn integer(&self, least: i64, most: i64) -> Result<i64, PlanError> {
        match self.scalar() {
            Some(Value::Integer(n)) if (least..=most).contains(&n) => Ok(n),
            scalar => {
                let meant = match &scalar {
                    Some(Value::Text(text)) => {
                        text.trim().parse().ok().filter(|n| (least..=most).contains(n))
                    }
                    _ => None,
                };
                let fix = match scalar {
                    Some(Value::Integer(n)) if n < least => {
                        format!("write at least {least}: {} = {least}", self.key)
                    }
                    Some(Value::Integer(_)) => format!("write at most {most}: {} = {most}", self.key),
                    _ => format!("write it without quotes: {} = {}", self.key, meant.unwrap_or(least)),
                };
                Err(self.wanted(&format!("a whole number from {least} to {most}"), &fix))
            }
        }
    }

    pub(super) fn number(&self) -> Result<f64, PlanError> {
        match self.scalar() {
            Some(Value::Integer(n)) => Ok(n as f64),
            Some(Value::Float(x)) if x.is_finite() => Ok(x),
            _ => Err(self.wanted("a number", "write a number without quotes: 12.5")),
        }
    }

    /// Seconds.
    pub(super) fn duration(&self) -> Result<f64, PlanError> {
        let fix = "write a number with its unit, in quotes: \"500ms\", \"2s\", \"5m\"";
        match self.value.get_ref() {
            DeValue::String(s) => match pitot_meter::units::duration(s) {
                Ok(nanos) => Ok(nanos.as_secs_f64()),
                Err(_) => Err(self.wanted("a duration", fix)),
            },
            _ => Err(self.wanted("a duration", fix)),
        }
    }

    /// A share: `0.02` or `"2%"`.
    pub(super) fn share(&self) -> Result<f64, PlanError> {
        let share = match self.value.get_ref() {
            DeValue::String(s) => {
                s.strip_suffix('%').and_then(|n| n.trim().parse::<f64>().ok()).map(|n| n / 100.0)
            }
            _ => self.number().ok(),
        };
        share
            .filter(|s| (0.0..1.0).contains(s))
            .ok_or_else(|| self.wanted("a share from 0 up to 1", "write it as 0.02 or as \"2%\""))
    }

    /// A word, a number or a switch.
    pub(super) fn scalar(&self) -> Option<Value> {
        match self.value.get_ref() {
            DeValue::String(s) => Some(Value::Text(s.to_string())),
            DeValue::Integer(n) => i64::from_str_radix(n.as_str(), n.radix()).ok().map(Value::Integer),
            DeValue::Float(x) => x.as_str().parse().ok().map(Value::Float),
            DeValue::Boolean(b) => Some(Value::Flag(*b)),
            DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
        }
    }

    pub(super) fn need_scalar(&self) -> Result<Value, PlanError> {
        self.scalar().ok_or_else(|| self.wanted("a word or a number", "write words in quotes"))
    }

    /// The elements of a list, each as an item with this key.
    pub(super) fn list(&self) -> Result<Vec<Item<'a>>, PlanError> {
        match self.value.get_ref().as_array() {
            Some(array) => Ok(array.iter().map(|value| Item { value, ..self.clone() }).collect()),
            None => Err(self.wanted("a list", &format!("write it in brackets: {} = [ ... ]", self.key))),
        }
    }

    /// A list of texts, or one text.
    pub(super) fn texts(&self) -> Result<Vec<String>, PlanError> {
        match self.value.get_ref() {
            DeValue::String(s) => Ok(vec![s.to_string()]),
            _ => self.list()?.iter().map(Item::text).collect(),
        }
    }

    pub(super) fn section(&self, what: impl Into<String>) -> Result<Section<'a>, PlanError> {
        match self.value.get_ref().as_table() {
            Some(table) => {
                Ok(Section { source: self.source, what: what.into(), span: self.key_span.clone(), table })
            }
            None => Err(self.wanted("a table", &format!("write [{}] on a line of its own", self.key))),
        }
    }

    /// The value as a setting: a scalar or a list of scalars.
    pub(super) fn setting(&self) -> Result<Value, PlanError> {
        match self.value.get_ref() {
            DeValue::Array(_) => {
                Ok(Value::List(self.list()?.iter().map(Item::need_scalar).collect::<Result<_, _>>()?))
            }
            _ => self.need_scalar(),
        }
    }
}

/// "did you mean ...?", or the list of known words.
pub(super) fn did_you_mean(word: &str, known: &[&str]) -> String {
    match nearest(word, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "remove it".into(),
        None => format!("known: {}", known.join(", ")),
    }
}
