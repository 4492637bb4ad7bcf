//! A mapped file that may be truncated while it is read.
//!
//! Touching a mapped page that the file no longer has raises SIGBUS, and so does touching a page that the disk cannot
//! read. A server must not die because a file was truncated while it was served. The ways to survive are few: process_vm_readv(2) of oneself turns the fault into EFAULT, but costs a system call and the pinning of
//! every page, several times the copy itself; siglongjmp is undefined behaviour in Rust. So a SIGBUS handler maps a
//! page of zeros where the fault was and marks the mapping as *torn*; the copy continues and, at its end, sees the mark
//! and returns an error. The mark is set before the zeros are mapped, so another thread that copies the same page cannot take the zeros
//! for contents. Price: one process-wide handler (it passes other faults on to its predecessor), and a torn
//! mapping is useless; map the file again.

use std::cell::Cell;
use std::io;
use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering, compiler_fence};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};

/// The first bytes of a file, mapped read-only and shared.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<u8>,
    len: usize,
    torn: AtomicBool,
}

// SAFETY: the memory is read-only for us, and is read only by `copy`, which tolerates concurrent change.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

/// A part of a mapping is no longer backed by the file: it was truncated, or the disk failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Torn;

impl Mapping {
    /// Maps the first `len` bytes.
    ///
    /// # Errors
    /// EINVAL for a length of zero; EACCES, ENODEV, ENOMEM, EOVERFLOW of mmap(2); those of sigaction(2).
    pub fn new(file: impl AsFd, len: usize) -> io::Result<Mapping> {
        catch_sigbus()?;
        // SAFETY: a fresh mapping at an address of the kernel's choice touches no memory that exists.
        let start =
            unsafe { mmap(std::ptr::null_mut(), len, ProtFlags::READ, MapFlags::SHARED, file.as_fd(), 0)? };
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Mapping { start, len, torn: AtomicBool::new(false) })
    }

    /// The number of bytes mapped.
    #[allow(clippy::len_without_is_empty, reason = "mmap(2) makes no empty mapping")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Copies `into.len()` bytes from `offset`. Blocks while the disk delivers pages that are not in memory.
    ///
    /// The bytes behind the end of the file in its last page read as zeros without any fault, so a caller that must
    /// know where the file ends asks for its size *after* the copy; see [`Mapping::ends_inside`].
    ///
    /// # Errors
    /// [`Torn`], and then `into` holds zeros where the file had nothing; the mapping is of no more use.
    ///
    /// # Panics
    /// If the range is not inside the mapping.
    pub fn copy(&self, offset: usize, into: &mut [u8]) -> Result<(), Torn> {
        assert!(offset <= self.len && into.len() <= self.len - offset, "a copy from outside of the mapping");
        if self.torn.load(Ordering::SeqCst) {
            return Err(Torn);
        }
        let from = self.start.as_ptr().wrapping_add(offset);
        COPYING.set(Some(Copying {
            start: self.start.as_ptr() as usize,
            len: self.len,
            torn: &raw const self.torn,
        }));
        compiler_fence(Ordering::SeqCst);
        // SAFETY: `from` points at `into.len()` bytes of the live mapping, checked above, which cannot overlap an
        // exclusively borrowed slice. Other processes may change them; bytes have no invalid values. A fault on a
        // page that the file lacks is repaired by `on_sigbus`.
        unsafe { std::ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len()) };
        // Whether the file still holds the range is part of the answer, so the copy is made even for a caller who
        // never looks at the bytes; the optimiser would drop it, and the fault with it.
        std::hint::black_box(into.as_mut_ptr());
        compiler_fence(Ordering::SeqCst);
        COPYING.set(None);
        // Also true if another thread tore it while we copied: its zeros may be among our bytes.
        if self.torn.load(Ordering::SeqCst) { Err(Torn) } else { Ok(()) }
    }

    /// True if bytes just copied may lie partly behind the end of the file, so that the caller should ask for its
    /// size: the last of them is zero, as are all bytes behind the end in the last page.
    pub fn ends_inside(copied: &[u8]) -> bool {
        copied.last() == Some(&0)
    }

    /// How many of the pages that hold `len` bytes from `offset` are in memory (mincore(2)).
    ///
    /// # Errors
    /// EAGAIN for want of kernel memory; ENOMEM outside of the mapping.
    pub fn resident_pages(&self, offset: usize, len: usize) -> io::Result<usize> {
        let page = rustix::param::page_size();
        let first = offset / page * page;
        let mut left = (offset + len).min(self.len).saturating_sub(first).div_ceil(page);
        let mut resident = 0;
        let mut at = self.start.as_ptr().wrapping_add(first);
        // One bit of a byte per page, asked for in stretches, so that a large file needs no large vector.
        let mut answers = [0u8; 512];
        while left > 0 {
            let pages = left.min(answers.len());
            // SAFETY: `at` is a page boundary inside the mapping and the kernel writes `pages` bytes, which fit.
            let result = unsafe { libc::mincore(at.cast(), pages * page, answers.as_mut_ptr()) };
            if result != 0 {
                return Err(io::Error::last_os_error());
            }
            resident += answers[..pages].iter().filter(|&&a| a & 1 == 1).count();
            left -= pages;
            at = at.wrapping_add(pages * page);
        }
        Ok(resident)
    }

    /// True if all pages that hold `len` bytes from `offset` are in memory; false also if the kernel will not say.
    pub fn is_resident(&self, offset: usize, len: usize) -> bool {
        let page = rustix::param::page_size();
        let pages = (offset + len).min(self.len).div_ceil(page).saturating_sub(offset / page);
        self.resident_pages(offset, len).is_ok_and(|resident| resident >= pages)
    }

    /// Tells the kernel that pages will be wanted in no order, so that it reads none ahead.
    ///
    /// # Errors
    /// Those of madvise(2); none is known for this advice.
    pub fn expect_random(&self) -> io::Result<()> {
        // SAFETY: the advice is about reading ahead and changes no contents.
        unsafe { madvise(self.start.as_ptr().cast(), self.len, Advice::Random)? };
        Ok(())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this is the mapping made in `new`; no borrow of it is left.
        unsafe {
            let _ = munmap(self.start.as_ptr().cast(), self.len);
        }
    }
}

/// The mapping that this thread copies from at the moment.
#[derive(Clone, Copy)]
struct Copying {
    start: usize,
    len: usize,
    torn: *const AtomicBool,
}

thread_local! {
    /// Constant and without a destructor, so the signal handler may read it: no lazy initialisation happens there.
    static COPYING: Cell<Option<Copying>> = const { Cell::new(None) };
}

/// The handler that was there before ours.
static PREDECESSOR: OnceLock<Predecessor> = OnceLock::new();

struct Predecessor(libc::sigaction);

// SAFETY: a sigaction is plain data: the address of a function, a mask and flags.
unsafe impl Send for Predecessor {}
// SAFETY: as above.
unsafe impl Sync for Predecessor {}

/// Installs the handler, once.
fn catch_sigbus() -> io::Result<()> {
    if PREDECESSOR.get().is_some() {
        return Ok(());
    }
    let mut before = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: sigaction is plain data for which zeroes are valid; the kernel only writes the old one to `before`.
    let before = unsafe {
        if libc::sigaction(libc::SIGBUS, std::ptr::null(), before.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        before.assume_init()
    };
    // The predecessor is known before ours can run; of two threads that come here at once one does the rest.
    if PREDECESSOR.set(Predecessor(before)).is_err() {
        return Ok(());
    }
    // SAFETY: zeroes are a valid sigaction, and the handler has the signature that SA_SIGINFO asks for.
    unsafe {
        let mut ours: libc::sigaction = std::mem::zeroed();
        ours.sa_sigaction = on_sigbus as *const () as usize;
        ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&raw mut ours.sa_mask);
        if libc::sigaction(libc::SIGBUS, &raw const ours, std::ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Runs on the thread that touched a page which is not there, in the middle of `Mapping::copy` or of anything else.
/// Only system calls, atomics and a constant thread-local are used, which a signal handler may.
extern "C" fn on_sigbus(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo for a SIGBUS.
    let address = unsafe { (*info).si_addr() } as usize;
    if let Some(copying) = COPYING.get()
        && (copying.start..copying.start + copying.len).contains(&address)
    {
        // SAFETY: the mapping is borrowed by the `copy` that this handler interrupts, so its mark is alive.
        unsafe { (*copying.torn).store(true, Ordering::SeqCst) };
        let page = rustix::param::page_size();
        let start = (address / page * page) as *mut libc::c_void;
        // SAFETY: the page lies in a live mapping that only `copy` reads; it is replaced by a page of zeros, which
        // `copy` may read, and is unmapped with the rest. The raw call leaves errno to be restored.
        let replaced = unsafe {
            let errno = *libc::__errno_location();
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
            let at = libc::mmap(start, page, libc::PROT_READ, flags, -1, 0);
            *libc::__errno_location() = errno;
            at != libc::MAP_FAILED
        };
        if replaced {
            return;
        }
    }
    pass_on(signal, info, context);
}

/// A fault that is not ours: what would have happened without us.
fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let before = PREDECESSOR.get().map(|p| &p.0);
    match before {
        Some(before) if before.sa_sigaction > libc::SIG_IGN => {
            // SAFETY: the address is that of a handler which the flags say takes three arguments or one.
            unsafe {
                if before.sa_flags & libc::SA_SIGINFO != 0 {
                    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                        std::mem::transmute(before.sa_sigaction);
                    handler(signal, info, context);
                } else {
                    let handler: extern "C" fn(libc::c_int) = std::mem::transmute(before.sa_sigaction);
                    handler(signal);
                }
            }
        }
        _ => {
            // SAFETY: the default action is put back, so the same fault, which comes again at once, ends the process.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;
    use std::sync::atomic::AtomicU64;

    use super::*;

    fn file_of(len: usize) -> File {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("pitot-mapping-{}-{n}", std::process::id()));
        let mut file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        file.write_all(&vec![9; len]).unwrap();
        file
    }

    #[test]
    fn a_copy_is_what_the_file_holds() {
        let mapping = Mapping::new(file_of(10_000), 10_000).unwrap();
        let mut bytes = [0; 5000];
        mapping.copy(5000, &mut bytes).unwrap();
        assert!(bytes.iter().all(|&b| b == 9));
        assert!(!Mapping::ends_inside(&bytes));
        assert!(mapping.is_resident(0, 10_000));
    }

    #[test]
    fn a_file_truncated_under_the_mapping_is_an_error_and_not_a_crash() {
        let file = file_of(100_000);
        let mapping = Mapping::new(&file, 100_000).unwrap();
        file.set_len(10).unwrap();
        let mut bytes = [1; 100_000];
        assert_eq!(mapping.copy(0, &mut bytes), Err(Torn));
        assert_eq!(mapping.copy(0, &mut bytes[..1]), Err(Torn), "a torn mapping is spent");
    }

    #[test]
    fn bytes_behind_the_end_in_the_last_page_ask_for_a_look_at_the_size() {
        let file = file_of(4096);
        let mapping = Mapping::new(&file, 4096).unwrap();
        file.set_len(10).unwrap();
        let mut bytes = [1; 4096];
        mapping.copy(0, &mut bytes).unwrap();
        assert!(Mapping::ends_inside(&bytes));
    }

    #[test]
    fn every_thread_that_copies_a_torn_page_gets_an_error() {
        for _ in 0..20 {
            let file = file_of(1 << 20);
            let mapping = Mapping::new(&file, 1 << 20).unwrap();
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| {
                        let mut bytes = vec![0; 1 << 20];
                        while mapping.copy(0, &mut bytes).is_ok() {
                            assert!(bytes[..4096].iter().all(|&b| b == 9), "zeros passed for contents");
                        }
                    });
                }
                file.set_len(0).unwrap();
            });
        }
    }
}
