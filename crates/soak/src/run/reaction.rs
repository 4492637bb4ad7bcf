//! What a soak does when something goes wrong.

/// What a soak does when a server dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDeath {
    /// It ends.
    End,
    /// It starts the server again, and counts.
    Restart,
}

/// What a soak does when a server hangs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnHang {
    /// It goes on: the server may come back.
    Continue,
    /// It ends.
    End,
}
