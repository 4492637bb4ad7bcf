/// The longest tag or `url()` that is read, bytes; longer ones, such as `data:` addresses, are skipped.
pub(super) const TOKEN_MAX: usize = 16 * 1024;

/// Reads tokens from text that arrives in pieces, and keeps the beginning of a token until the rest comes.
#[derive(Debug, Default)]
pub(super) struct Carry(Vec<u8>);

impl Carry {
    /// Takes a piece. `step` returns the length of the first token of a text, or 0 if its end is missing. It gets at most
    /// [`TOKEN_MAX`] bytes, and must not return 0 for so many.
    pub(super) fn feed(&mut self, piece: &[u8], mut step: impl FnMut(&[u8]) -> usize) {
        let mut run = |text: &[u8]| {
            let mut at = 0;
            while at < text.len() {
                match step(&text[at..text.len().min(at + TOKEN_MAX)]) {
                    0 => break,
                    taken => at += taken,
                }
            }
            at
        };
        if self.0.is_empty() {
            let taken = run(piece);
            self.0.extend_from_slice(&piece[taken..]);
        } else {
            self.0.extend_from_slice(piece);
            let taken = run(&self.0);
            self.0.drain(..taken);
        }
        debug_assert!(self.0.len() < TOKEN_MAX);
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
