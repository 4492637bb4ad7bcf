use std::sync::OnceLock;

/// The part of a message that is kept.
const BYTES_MAX: usize = 300;

/// The first refusal of a server, in its words. All connections of a run share it; it costs nothing until one comes.
#[derive(Debug, Default)]
pub(crate) struct Said(OnceLock<String>);

impl Said {
    /// Records a refusal, if it is the first.
    pub(crate) fn hear(&self, text: &[u8]) {
        self.0.get_or_init(|| {
            let kept = &text[..text.len().min(BYTES_MAX)];
            String::from_utf8_lossy(kept).trim().trim_end_matches('\u{fffd}').to_owned()
        });
    }

    /// Records the refusal of a named request, if it is the first.
    pub(crate) fn hear_of(&self, name: &str, text: &[u8]) {
        if self.0.get().is_none() {
            self.hear(&[name.as_bytes(), b": ", text].concat());
        }
    }

    /// The recorded refusal.
    pub(crate) fn words(&self) -> Option<String> {
        self.0.get().filter(|words| !words.is_empty()).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_refusal_is_kept_and_no_more_of_it_than_a_sentence() {
        let said = Said::default();
        assert_eq!(said.words(), None);
        said.hear(b" no such user \r\n");
        said.hear(b"another");
        assert_eq!(said.words().as_deref(), Some("no such user"));
        let long = Said::default();
        long.hear("é".repeat(1000).as_bytes());
        assert_eq!(long.words().unwrap().len(), BYTES_MAX);
    }
}
