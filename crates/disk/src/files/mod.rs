//! Experiment E3: many small files in one directory, created, written and read back (Lyris Technologies, 2001).
//!
//! For each size, one pass creates and writes all files and a second one reads them back. Optionally the first pass syncs and
//! closes them, and separate passes read their metadata and delete them. Only the system calls are timed, each phase separately;
//! making and checking the contents happens in between. Several threads take files in turn, and the time of a phase is the mean
//! over the threads.
//!
//! Sizes must not affect each other. So each has its directory, and nothing is removed before all sizes are done: before ext4
//! reuses an inode it checks the deletion times of the last minutes, which made creation ten times slower from the third size on.
//! For the same reason the directories are placed apart from those of earlier runs where the file system supports that (the
//! attribute `T` of chattr(1)). One effect remains: the kernel begins to write the files of one size while another is measured.

mod plan;
mod run;
mod scratch;
mod times;

pub use plan::{FilesError, FilesPlan, Phase, PhaseReport, SizeReport};
pub use run::run;
