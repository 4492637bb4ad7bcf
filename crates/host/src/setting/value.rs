//! Words of values: what counts as the same, and the forms that kinds share.

use crate::cpu_list::{parse_cpu_list, show_cpu_list};

/// Whether two values mean the same: alike but for white space, or the same numbers.
pub fn same(a: &str, b: &str) -> bool {
    let mut left = a.split_whitespace();
    let mut right = b.split_whitespace();
    loop {
        match (left.next(), right.next()) {
            (None, None) => return true,
            (Some(x), Some(y)) if x == y || number(x).is_some_and(|n| number(y) == Some(n)) => {}
            _ => return false,
        }
    }
}

/// A number as the kernel reads it: with 0x in base 16.
fn number(word: &str) -> Option<i128> {
    match word.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    }
}

/// Why a value is none of some words; none if it is one.
pub(super) fn not_among(words: &[&str], value: &str) -> Option<String> {
    (!words.contains(&value)).then(|| format!("it is one of {}", words.join(", ")))
}

/// Why a value is not as many numbers as were found; none if it is, or what was found is no number.
pub(super) fn not_as_many_numbers(found: &str, value: &str) -> Option<String> {
    let numbers = |text: &str| -> Option<usize> {
        let all: Option<Vec<i128>> = text.split_whitespace().map(number).collect();
        all.map(|all| all.len())
    };
    let count = numbers(found).filter(|count| *count > 0)?;
    (numbers(value) != Some(count)).then(|| match count {
        1 => "it is a number".to_owned(),
        count => format!("it is {count} numbers"),
    })
}

/// `on` or `off`.
pub(super) fn switch(value: &str) -> Result<&'static str, String> {
    match value {
        "on" | "1" | "true" | "yes" => Ok("on"),
        "off" | "0" | "false" | "no" => Ok("off"),
        _ => Err("it is `on` or `off`".into()),
    }
}

/// A whole number.
pub(super) fn count(value: &str) -> Result<String, String> {
    value.parse::<u32>().map(|n| n.to_string()).map_err(|_| "it is a whole number".into())
}

/// No CPU at all.
const NONE: &str = "none";

/// CPUs as a list: `0-3,8`, or `none`.
pub(super) fn cpus(value: &str) -> Result<String, String> {
    if value == NONE || value.is_empty() {
        return Ok(NONE.into());
    }
    match parse_cpu_list(value) {
        Some(cpus) if !cpus.is_empty() => Ok(show_cpu_list(&cpus)),
        _ => Err("it is a list of CPUs such as 0-3,8, or none".into()),
    }
}

/// A mask of CPUs as the kernel shows it (`00000000,0000000f`) as a list.
pub(super) fn list_of_mask(mask: &str) -> Option<String> {
    let mut found = Vec::new();
    for (word, digits) in mask.trim().rsplit(',').enumerate() {
        let bits = u32::from_str_radix(digits, 16).ok()?;
        found.extend((0..32).filter(|bit| bits >> bit & 1 == 1).map(|bit| word * 32 + bit));
    }
    Some(if found.is_empty() { NONE.into() } else { show_cpu_list(&found) })
}

/// The mask of a list of CPUs.
pub(super) fn mask_of_list(list: &str) -> Option<String> {
    let cpus = if list == NONE { Vec::new() } else { parse_cpu_list(list)? };
    let words = cpus.iter().max().map_or(1, |last| last / 32 + 1);
    let mut bits = vec![0u32; words];
    for cpu in cpus {
        bits[cpu / 32] |= 1 << (cpu % 32);
    }
    Some(bits.iter().rev().map(|word| format!("{word:08x}")).collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_the_same_whatever_their_white_space_and_base() {
        assert!(same("4096\t131072  6291456", "4096 131072 6291456\n"));
        assert!(same("0x10", "16") && same("007", "7") && same("", " "));
        assert!(!same("1", "2") && !same("1 2", "1") && !same("cubic", "reno") && !same("", "0"));
    }

    #[test]
    fn masks_and_lists_are_two_forms_of_one_thing() {
        for (mask, list) in [("3", "0-1"), ("00000001,00000000", "32"), ("0", "none"), ("ff", "0-7")] {
            assert_eq!(list_of_mask(mask).as_deref(), Some(list));
            let back = mask_of_list(list).unwrap();
            assert_eq!(list_of_mask(&back).as_deref(), Some(list), "{back}");
        }
        assert_eq!(list_of_mask("xyz"), None);
        assert_eq!(mask_of_list("a-b"), None);
        assert_eq!(cpus("3,1,0").as_deref(), Ok("0-1,3"));
        assert!(cpus("a").is_err() && switch("maybe").is_err() && count("-1").is_err());
    }
}
