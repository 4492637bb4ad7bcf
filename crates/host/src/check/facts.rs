use std::collections::BTreeMap;

/// What rules look at: words by name. Kernel parameters and settings have the names that `pitot host apply` takes, other
/// facts have names of their own (`collect.rs`). What cannot be seen is not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    words: BTreeMap<String, String>,
}

impl Facts {
    /// Adds a fact that can be seen.
    pub fn add(&mut self, name: impl Into<String>, value: Option<String>) {
        if let Some(value) = value {
            self.words.insert(name.into(), value);
        }
    }

    /// A fact.
    pub fn word(&self, name: &str) -> Option<&str> {
        self.words.get(name).map(String::as_str)
    }

    /// The numbers of a fact.
    pub fn numbers(&self, name: &str) -> Option<Vec<u64>> {
        self.word(name)?.split_whitespace().map(|word| word.parse().ok()).collect()
    }

    /// A fact that is one number.
    pub fn number(&self, name: &str) -> Option<u64> {
        match self.numbers(name)?[..] {
            [number] => Some(number),
            _ => None,
        }
    }

    /// The words of a fact that is a list.
    pub fn list(&self, name: &str) -> Vec<&str> {
        self.word(name).map(|list| list.split_whitespace().collect()).unwrap_or_default()
    }
}

impl<'a> FromIterator<(&'a str, &'a str)> for Facts {
    fn from_iter<T: IntoIterator<Item = (&'a str, &'a str)>>(facts: T) -> Facts {
        Facts { words: facts.into_iter().map(|(name, value)| (name.into(), value.into())).collect() }
    }
}
