//! Options and their settings, as a plan spells them.

use serde::{Deserialize, Serialize};

/// A value of an option or a level of a factor, as the plan spells it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A switch: `true` gives the bare flag, `false` leaves it out.
    Flag(bool),
    /// A whole number.
    Integer(i64),
    /// Another number.
    Float(f64),
    /// A word, a duration, a size ...
    Text(String),
    /// An option given several times.
    List(Vec<Value>),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Flag(b) => write!(f, "{b}"),
            Value::Integer(n) => write!(f, "{n}"),
            Value::Float(x) => write!(f, "{x}"),
            Value::Text(s) => f.write_str(s),
            Value::List(items) => {
                for (i, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if i == 0 { "" } else { " " })?;
                }
                Ok(())
            }
        }
    }
}

/// Options and their values, in the order of the plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Settings(pub Vec<(String, Value)>);

impl Settings {
    /// The value of `option`.
    pub fn get(&self, option: &str) -> Option<&Value> {
        self.0.iter().find(|(name, _)| name == option).map(|(_, value)| value)
    }

    /// Removes `option` and returns its value.
    pub fn take(&mut self, option: &str) -> Option<Value> {
        let at = self.0.iter().position(|(name, _)| name == option)?;
        Some(self.0.remove(at).1)
    }

    /// Sets `option`, in its position if it is there already.
    pub fn set(&mut self, option: &str, value: Value) {
        match self.0.iter_mut().find(|(name, _)| name == option) {
            Some((_, old)) => *old = value,
            None => self.0.push((option.to_owned(), value)),
        }
    }
}
