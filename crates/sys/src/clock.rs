//! Whether the clock of the machine is kept right (adjtimex(2)).

/// Whether something keeps the time of day in step with that of others; `None` if the kernel does not tell.
pub fn is_synchronised() -> Option<bool> {
    // SAFETY: a timex holds numbers only, so zeroes are a valid one; with no modes nothing is changed.
    let mut timex: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a timex that lives until the call returns.
    let state = unsafe { libc::adjtimex(&raw mut timex) };
    (state >= 0).then_some(timex.status & libc::STA_UNSYNC == 0)
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_can_be_asked_without_rights() {
        let _ = super::is_synchronised();
    }
}
