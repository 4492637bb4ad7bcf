use std::time::Duration;

/// What a reply has made of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It goes on after a pause, with the replies that are still awaited or the next requests.
    GoesOn {
        /// How long its user thinks.
        think: Duration,
    },
    /// Its last reply was right.
    Completed {
        /// How long the user thinks before another session.
        think: Duration,
    },
    /// It is over with a wrong reply to this step, numbered through all sessions; no reply is awaited any more.
    Failed(u16),
}

/// A connection that plays sessions.
pub trait SessionConn {
    /// How many requests may be written now, beside those that are not answered: none while the next one has to wait for a
    /// reply. Between sessions it is one.
    fn room(&self) -> u16;

    /// What the last complete reply has made of the session. Asked once after each.
    fn turn(&mut self) -> Turn;

    /// The connection was lost, or a request came to nothing, with replies awaited: the session is over. The step that
    /// failed, numbered through all sessions; none if the session never sent a request.
    fn abandon(&mut self) -> Option<u16>;
}
