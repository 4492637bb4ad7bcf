//! The sessions, each in a slot with a generation, so that events of earlier sessions are recognised.

use pitot_sys::Token;

use crate::session::Session;

/// Sessions by slot, with a generation for each slot.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    sessions: Vec<Option<Box<Session>>>,
    generations: Vec<u32>,
    free: Vec<u32>,
    /// Sessions that exist, those taken out included.
    pub(crate) len: usize,
}

impl Slots {
    /// The token of the slot that the next session gets.
    pub(crate) fn next(&mut self) -> Token {
        let index = self.free.last().copied().unwrap_or_else(|| {
            self.sessions.push(None);
            self.generations.push(0);
            self.free.push(self.sessions.len() as u32 - 1);
            self.sessions.len() as u32 - 1
        });
        Token::new(index, self.generations[index as usize])
    }

    /// Puts a new session into the slot that [`Slots::next`] returned.
    pub(crate) fn insert(&mut self, session: Session) {
        if let Some(index) = self.free.pop() {
            self.sessions[index as usize] = Some(Box::new(session));
            self.len += 1;
        }
    }

    /// Takes a session out, to work with; [`Slots::put`] or [`Slots::remove`] must follow.
    pub(crate) fn take(&mut self, token: Token) -> Option<Box<Session>> {
        self.is_current(token).then(|| self.sessions[token.index() as usize].take()).flatten()
    }

    /// Puts a session back.
    pub(crate) fn put(&mut self, token: Token, session: Box<Session>) {
        self.sessions[token.index() as usize] = Some(session);
    }

    /// Frees the slot of a session that was taken out.
    pub(crate) fn remove(&mut self, token: Token) {
        let generation = &mut self.generations[token.index() as usize];
        *generation = (*generation + 1) % Token::GENERATIONS;
        self.free.push(token.index());
        self.len -= 1;
    }

    /// The session that the token named, if it is still there.
    pub(crate) fn get(&self, token: Token) -> Option<&Session> {
        let there = self.is_current(token);
        there.then(|| self.sessions[token.index() as usize].as_deref()).flatten()
    }

    /// The tokens of all sessions.
    pub(crate) fn tokens(&self) -> Vec<Token> {
        let occupied =
            self.sessions.iter().zip(&self.generations).enumerate().filter(|(_, (s, _))| s.is_some());
        occupied.map(|(index, (_, generation))| Token::new(index as u32, *generation)).collect()
    }

    fn is_current(&self, token: Token) -> bool {
        self.generations.get(token.index() as usize) == Some(&token.generation())
    }
}
