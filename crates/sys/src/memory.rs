//! What the allocator does with memory that is not used any more.

/// Freed memory up to this is kept: more than a program frees at once that asks for it.
#[cfg(target_env = "gnu")]
const KEPT_BYTES: libc::c_int = 64 << 20;

/// From now on the allocator keeps what is freed. By default it gives large pieces back to the kernel, so that a program
/// that needs such a piece for a moment, again and again, pays for new zeroed pages each time. Where the C library has no
/// such setting (mallopt(3)) nothing changes.
pub fn keep_freed() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt takes two numbers and locks the allocator while it changes its settings.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, KEPT_BYTES / 2);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT_BYTES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_env = "gnu")]
    #[test]
    fn memory_that_is_kept_is_not_zeroed_by_the_kernel_again() {
        /// Page faults of the calling thread that needed no disk (the tenth field of proc_pid_stat(5)).
        fn faults() -> u64 {
            let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
            stat.rsplit(") ").next().unwrap().split(' ').nth(7).unwrap().parse().unwrap()
        }
        keep_freed();
        let touch = || drop(std::hint::black_box(vec![1u8; 1 << 20]));
        touch();
        let before = faults();
        (0..100).for_each(|_| touch());
        // Zeroed anew they would be 25,600. A test that forks meanwhile has each page copied once.
        assert!(faults() - before < 2_560, "{} page faults", faults() - before);
    }
}
