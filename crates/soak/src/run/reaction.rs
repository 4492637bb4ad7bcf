//! What to do when something goes wrong.

/// What a soak does when a server dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDeath {
    /// End the soak.
    End,
    /// Restart the server, and count.
    Restart,
}

/// What a soak does when a server hangs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnHang {
    /// Continue, since the server may recover.
    Continue,
    /// End the soak.
    End,
}
