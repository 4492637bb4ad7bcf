//! Times of expiry, in Unix seconds.

/// What never expires.
pub(super) const NEVER: u32 = u32::MAX;
/// What expires at once.
pub(super) const AT_ONCE: u32 = 0;

/// The time of expiry in Unix seconds for a client's number: 0 is never, negative is at once, up to thirty days it is
/// relative, and beyond that it is absolute (protocol.txt, "Expiration times").
pub(super) fn expires_s(exptime: i32, now_s: u32) -> u32 {
    const RELATIVE_MAX: i32 = 60 * 60 * 24 * 30;
    match exptime {
        0 => NEVER,
        ..0 => AT_ONCE,
        1..=RELATIVE_MAX => now_s.saturating_add(exptime as u32).min(NEVER - 1),
        _ => exptime as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_expiry() {
        let month = 60 * 60 * 24 * 30;
        for (exptime, at) in [
            (0, NEVER),
            (-1, AT_ONCE),
            (i32::MIN, AT_ONCE),
            (1, 1_000_000_001),
            (month, 1_000_000_000 + month as u32),
            (month + 1, month as u32 + 1),
            (2_000_000_000, 2_000_000_000),
            (i32::MAX, i32::MAX as u32),
        ] {
            assert_eq!(expires_s(exptime, 1_000_000_000), at, "{exptime}");
        }
        assert_eq!(expires_s(60, u32::MAX - 5), NEVER - 1);
    }
}
