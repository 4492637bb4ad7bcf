//! On which CPU a thread that is shared by all groups runs at the moment.

use pitot_sys::affinity;

/// The CPUs of the calling thread.
pub(super) struct Seat {
    /// Where it may run if a group does not ask for a CPU.
    allowed: Vec<usize>,
    pinned: Option<usize>,
}

impl Seat {
    /// Where the calling thread may run now.
    pub(super) fn here() -> Seat {
        Seat { allowed: affinity::allowed().unwrap_or_default(), pinned: None }
    }

    /// Pins the calling thread to a CPU, or lets it run everywhere again. Nothing happens if it is there already.
    ///
    /// # Errors
    /// One line: the CPU is not online any more.
    pub(super) fn take(&mut self, cpu: Option<usize>) -> Result<(), String> {
        if self.pinned == cpu {
            return Ok(());
        }
        let pinned = match &cpu {
            Some(cpu) => affinity::pin(std::slice::from_ref(cpu)),
            None => affinity::pin(&self.allowed),
        };
        pinned.map_err(|e| format!("the thread cannot be pinned to another CPU: {e}"))?;
        self.pinned = cpu;
        Ok(())
    }
}
