/// The longest tag or `url()` that is read; a longer one is skipped. Only addresses that hold their content (`data:`) are
/// as long.
pub(super) const TOKEN_MAX: usize = 16 * 1024;

/// Reads tokens from text that arrives in pieces. A token that is cut is kept until the rest of it comes.
#[derive(Debug, Default)]
pub(super) struct Carry(Vec<u8>);

impl Carry {
    /// Takes a piece. `step` reads the first token of a text and says how long it is; 0 if its end is not there, which it
    /// must not say of a text of [`TOKEN_MAX`] bytes, which is the most that it is shown.
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

    /// Forgets what was kept, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
