//! Other kernels than the one that runs: guests, in which Pitot itself is the first process.
//!
//! A guest is QEMU with a kernel and an initramfs that is made here: the running binary, other programs with the libraries
//! that they need, and a job. Nothing of a distribution starts in it. What goes in is a cpio archive behind the initramfs, and
//! what comes out is one again, through a serial line, which every kernel has without a module.
//!
//! Without KVM the processor is emulated ([`Clock::Instructions`]): one virtual CPU, whose clock counts instructions, one to a
//! nanosecond. What such a guest measures is instructions; it has no caches, no devices and no other CPU.
#![forbid(unsafe_code)]

mod cpio;
mod elf;
mod guest;
mod image;
mod init;
mod install;
mod job;
mod store;
mod vmlinuz;

pub use guest::{Boot, Clock, Ended, QEMU, clock_of_this_machine, qemu};
pub use image::Image;
pub use init::first_process;
pub use install::{Origin, Plan as InstallPlan};
pub use job::{Job, JobOutcome};
pub use store::{Kernel, Store, is_name};
