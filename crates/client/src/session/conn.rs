use std::time::Duration;

/// The state of a session after a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It continues after a pause, with awaited replies or the next requests.
    GoesOn {
        /// How long its user thinks.
        think: Duration,
    },
    /// Its last reply was right.
    Completed {
        /// How long the user thinks before another session.
        think: Duration,
    },
    /// It ended with a wrong reply to this step, numbered through all sessions. No reply is awaited.
    Failed(u16),
}

/// A connection that plays sessions.
pub trait SessionConn {
    /// How many requests may be written now, in addition to the unanswered ones: 0 while the next one waits for a reply, 1 between
    /// sessions.
    fn room(&self) -> u16;

    /// The state after the last complete reply. Called once after each.
    fn turn(&mut self) -> Turn;

    /// The connection was lost, or a request failed, with replies awaited: the session is over. Returns the failed step, numbered
    /// through all sessions; `None` if the session has not sent a request.
    fn abandon(&mut self) -> Option<u16>;
}
