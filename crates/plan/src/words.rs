//! The nearest right word to a wrong one.

use pitot_results::word_distance;

/// The word of `known` that is nearest to `word`, if any is near enough to be what was meant.
pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let plain = word.to_lowercase().replace('_', "-");
    known
        .iter()
        .map(|k| (word_distance(&plain, k), *k))
        .min()
        .filter(|(d, k)| *d <= 1 + k.chars().count().min(plain.chars().count()) / 4)
        .map(|(_, k)| k)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_near_word_is_suggested() {
        let known = ["repetitions", "duration", "warmup", "order"];
        assert_eq!(nearest("repetition", &known), Some("repetitions"));
        assert_eq!(nearest("Duratoin", &known), Some("duration"));
        assert_eq!(nearest("warm_up", &known), Some("warmup"));
        assert_eq!(nearest("colour", &known), None);
    }
}
