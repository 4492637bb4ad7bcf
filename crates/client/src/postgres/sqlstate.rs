//! Names of errors by their SQLSTATE.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Names live as long as the process, so a server must not be able to invent any number of them. PostgreSQL 17 has 260
/// (PostgreSQL documentation, appendix "Error Codes").
const NAMES_MAX: usize = 1000;
const OTHER: &str = "sqlstate-other";

static NAMES: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());

/// The name under which an error is counted: `sqlstate-42P01`.
pub(super) fn name(code: [u8; 5]) -> &'static str {
    if !code.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit()) {
        return OTHER;
    }
    let name = format!("sqlstate-{}", String::from_utf8_lossy(&code));
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    match names.get(&*name) {
        Some(known) => known,
        None if names.len() == NAMES_MAX => OTHER,
        None => {
            let name: &'static str = name.leak();
            names.insert(name);
            name
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_made_once_and_only_of_a_code() {
        assert_eq!(name(*b"42P01"), "sqlstate-42P01");
        assert!(std::ptr::eq(name(*b"42P01"), name(*b"42P01")));
        assert_eq!(name(*b"42 01"), OTHER);
    }
}
