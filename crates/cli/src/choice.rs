//! Options that take one of a few words, each of which stands for a value of another crate.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _, ValueParser};

/// Takes one of these words.
pub(crate) fn one_of<W, T>(choices: impl IntoIterator<Item = (W, T)>) -> ValueParser
where
    W: Into<PossibleValue>,
    T: Clone + Send + Sync + 'static,
{
    let (words, values): (Vec<PossibleValue>, Vec<T>) =
        choices.into_iter().map(|(word, value)| (word.into(), value)).unzip();
    let value_of = {
        let words = words.clone();
        move |given: String| {
            let at = words.iter().position(|word| word.matches(&given, false));
            at.and_then(|at| values.get(at).cloned()).ok_or("it stands for nothing")
        }
    };
    PossibleValuesParser::new(words).try_map(value_of).into()
}

/// A word with its text in the help.
pub(crate) fn word(name: &'static str, help: &'static str) -> PossibleValue {
    PossibleValue::new(name).help(help)
}

#[cfg(test)]
mod tests {
    use clap::{Arg, Command};

    use super::*;

    #[test]
    fn each_word_stands_for_its_value_and_others_are_refused() {
        let read = |given: &str| {
            let parser = one_of([(word("few", "Some").alias("some"), 3_u8), (word("many", "More"), 100)]);
            let command = Command::new("x").arg(Arg::new("number").value_parser(parser));
            command.try_get_matches_from(["x", given]).ok()?.remove_one::<u8>("number")
        };
        assert_eq!(
            ["few", "some", "many", "Few", "fe", ""].map(read),
            [Some(3), Some(3), Some(100), None, None, None]
        );
    }
}
