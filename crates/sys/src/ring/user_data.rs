//! User data of submissions: the kind of operation in the upper byte, and a token or the number of a slot below.

/// Kinds of operation.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Accept = 1,
    AcceptDirect,
    Receive,
    Send,
    Read,
    Connect,
    Poll,
    SendStatic,
    Shutdown,
    /// Closes and cancellations: nobody waits for them.
    Forget,
}

const KIND_SHIFT: u32 = 56;

/// The user data of an operation. The upper byte of `bits` must be zero.
pub(super) fn user_data(kind: Kind, bits: u64) -> u64 {
    debug_assert!(bits >> KIND_SHIFT == 0);
    (kind as u64) << KIND_SHIFT | bits
}

/// The kind of operation that the user data names, and the bits below it.
pub(super) fn taken_apart(user_data: u64) -> (Kind, u64) {
    const KINDS: [Kind; 10] = [
        Kind::Accept,
        Kind::AcceptDirect,
        Kind::Receive,
        Kind::Send,
        Kind::Read,
        Kind::Connect,
        Kind::Poll,
        Kind::SendStatic,
        Kind::Shutdown,
        Kind::Forget,
    ];
    let kind =
        KINDS.get(((user_data >> KIND_SHIFT) as usize).wrapping_sub(1)).copied().unwrap_or(Kind::Forget);
    (kind, user_data & !(u64::from(u8::MAX) << KIND_SHIFT))
}
