//! A ring that does nothing, to measure what a submission and its completion cost.

use io_uring::{IoUring, opcode};

use super::options::Options;
use super::probe::{build, explain};
use crate::Unavailable;

/// A ring for operations that do nothing (`IORING_OP_NOP`).
pub struct Nops(IoUring);

impl Nops {
    /// A ring with room for `batch` operations at once.
    ///
    /// # Errors
    /// [`Unavailable`] with the cause and the fix.
    pub fn new(batch: u32) -> Result<Nops, Unavailable> {
        let size = batch.next_power_of_two();
        build(&Options { submissions: size, completions: size, ..Options::default() })
            .map(Nops)
            .map_err(|e| explain(&e))
    }

    /// Submits so many operations in one call, waits for them in the same call, and takes their completions. At most as many
    /// as the ring has room for.
    ///
    /// # Errors
    /// As io_uring_enter(2).
    pub fn run(&mut self, count: u32) -> std::io::Result<()> {
        {
            let mut queue = self.0.submission();
            for _ in 0..count {
                // SAFETY: the operation refers to no memory.
                unsafe { queue.push(&opcode::Nop::new().build()) }
                    .map_err(|_| std::io::ErrorKind::StorageFull)?;
            }
        }
        self.0.submit_and_wait(count as usize)?;
        let taken = self.0.completion().count();
        if taken < count as usize {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }
}

impl std::fmt::Debug for Nops {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Nops").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_complete_as_were_submitted() {
        let Ok(mut ring) = Nops::new(64) else {
            assert!(super::super::probe().is_err());
            return;
        };
        for count in [1, 64, 7] {
            ring.run(count).unwrap();
        }
        assert!(ring.run(65).is_err());
    }
}
