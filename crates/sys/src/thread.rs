//! Starting threads where memory is short.

use std::io;
use std::ptr;
use std::sync::Once;
use std::thread::{Builder, JoinHandle};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use rustix::process::{Resource, getrlimit};

/// Address space that a thread needs besides its stack: for its signal stack and what it allocates first. A thread that has none
/// for that ends the process.
const BESIDE_STACK: usize = 16 << 20;

/// Starts a thread with a stack of that size.
///
/// # Errors
/// No thread can be started: the limits on processes and threads, or on the address space (`ulimit -v`).
pub fn spawn<T: Send + 'static>(
    builder: Builder,
    stack_bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    if getrlimit(Resource::As).current.is_some() {
        share_one_arena();
        check_room(stack_bytes.saturating_add(BESIDE_STACK))?;
    }
    builder.stack_size(stack_bytes).spawn(work)
}

/// Has all threads allocate from one arena of glibc. One of its own reserves 64 MiB for each thread (mallopt(3)): it would take
/// the room that another thread was started with.
fn share_one_arena() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: it changes how memory is found and nothing that has been allocated.
        #[cfg(target_env = "gnu")]
        unsafe {
            libc::mallopt(libc::M_ARENA_MAX, 1);
        }
    });
}

/// Whether so many bytes of address space are free: they are mapped, and given back. An allocation would not do, since the allocator
/// may have them from before.
fn check_room(bytes: usize) -> io::Result<()> {
    // SAFETY: a mapping at a place of the kernel's choice is nobody else's.
    let room = unsafe { mmap_anonymous(ptr::null_mut(), bytes, ProtFlags::empty(), MapFlags::PRIVATE)? };
    // SAFETY: it is the mapping from above, and nothing refers to it.
    unsafe { munmap(room, bytes)? };
    Ok(())
}

/// The size of a stack where nothing speaks for another.
pub const STACK_BYTES: usize = 2 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_started_and_gives_its_value() {
        assert_eq!(spawn(Builder::new(), STACK_BYTES, || 7).unwrap().join().unwrap(), 7);
    }

    #[test]
    fn a_stack_for_which_there_is_no_room_is_an_error() {
        assert!(check_room(1 << 60).is_err() && spawn(Builder::new(), 1 << 60, || ()).is_err());
        assert!(check_room(1 << 20).is_ok());
    }
}
