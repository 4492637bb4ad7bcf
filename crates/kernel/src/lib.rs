//! Other kernels: guests in which Pitot is the first process.
//!
//! A guest is QEMU with a kernel and an initramfs: this binary, other programs with their libraries, and a job. No distribution starts
//! in it. The job is a cpio archive after the initramfs, and its result is one that is sent through a serial line, which every
//! kernel has built in.
//!
//! gVisor is a sandbox with the same files and the same first process ([`SandboxRun`]), on this machine's processor. For comparison the
//! job can run on this machine's kernel ([`Direct`]).
//!
//! Without KVM the processor is emulated ([`Clock::Instructions`]): one virtual CPU whose clock counts instructions, one for each
//! nanosecond. Such a guest measures instructions; it has no caches, no devices and no other CPU.
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
