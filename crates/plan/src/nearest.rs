//! The name that a misspelt word most likely means.

use strsim::osa_distance;

/// The nearest of `names`, if it differs from `word` in few letters.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = word.to_lowercase().replace('_', "-");
    let distances = names.into_iter().map(|name| (osa_distance(&plain, name), name));
    distances.min().filter(|(distance, _)| *distance <= 1 + plain.chars().count() / 4).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_near_name_is_offered() {
        let names = ["repetitions", "duration", "warmup", "order", "epoll-lt", "epoll-et", "uring"];
        for (word, name) in [
            ("repetition", Some("repetitions")),
            ("Duratoin", Some("duration")),
            ("warm_up", Some("warmup")),
            ("epoll-ed", Some("epoll-et")),
            ("colour", None),
            ("io_uring", Some("uring")),
            ("kqueue", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, names), name, "{word}");
        }
    }
}
