//! Other kernels than the one that runs: guests, in which Pitot itself is the first process.
//!
//! A guest is QEMU with a kernel and an initramfs that is made here: the running binary, other programs with the libraries
//! that they need, and a job. Nothing of a distribution starts in it. What goes in is a cpio archive behind the initramfs, and
//! what comes out is one again, through a serial line, which every kernel has without a module.
//!
//! gVisor is a kernel of another kind: a sandbox with the same files and the same first process ([`SandboxRun`]), on this machine's
//! processor; beside it the same job runs on the kernel of this machine ([`Direct`]).
//!
//! Without KVM the processor is emulated ([`Clock::Instructions`]): one virtual CPU, whose clock counts instructions, one to a
//! nanosecond. What such a guest measures is instructions; it has no caches, no devices and no other CPU.
#![forbid(unsafe_code)]

mod cpio;
mod direct;
mod elf;
mod guest;
mod image;
mod init;
mod install;
mod job;
mod modules;
mod name;
mod running;
mod sandbox;
mod store;
mod vmlinuz;

pub use direct::Direct;
pub use guest::{Boot, Clock, QEMU, TRIAL, clock_of_this_machine, qemu};
pub use image::Image;
pub use init::{first_process, first_process_of_sandbox};
pub use install::{InstallPlan, Origin};
pub use job::{FOLDER, Job, JobOutcome};
pub use name::{GVISOR, is_name};
pub use running::Ended;
pub use sandbox::{GVISOR_BUILD, GVISOR_MODULE, RUNSC, Sandbox, SandboxRun};
pub use store::{Kernel, Store};
