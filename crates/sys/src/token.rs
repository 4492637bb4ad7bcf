/// Names one registered object (a connection, a listener) to an event mechanism: the index of its slot and the
/// generation of that slot, so that an event for an earlier owner of the slot can be recognised.
///
/// The upper eight bits are always zero; io_uring keeps the kind of the operation there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(u64);

impl Token {
    /// Generations count modulo this.
    pub const GENERATIONS: u32 = 1 << 24;

    /// The token of slot `index` in its `generation` (modulo 2^24).
    pub const fn new(index: u32, generation: u32) -> Token {
        Token(index as u64 | ((generation % Token::GENERATIONS) as u64) << 32)
    }

    /// The index of the slot.
    pub const fn index(self) -> u32 {
        self.0 as u32
    }

    /// The generation of the slot.
    pub const fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }

    pub(crate) const fn bits(self) -> u64 {
        self.0
    }

    pub(crate) const fn from_bits(bits: u64) -> Token {
        Token(bits & ((1 << 56) - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_keeps_index_and_generation() {
        let token = Token::new(u32::MAX, Token::GENERATIONS + 5);
        assert_eq!((token.index(), token.generation()), (u32::MAX, 5));
        assert_eq!(Token::from_bits(token.bits() | 0xff << 56), token);
    }
}
