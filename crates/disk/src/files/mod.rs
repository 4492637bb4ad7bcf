//! Experiment E3: many small files in one directory, created, written and read back (Lyris Technologies, 2001).
//!
//! For each size one pass creates and writes all files and a second one reads them back; by option they are synced
//! and closed in the first, and asked for their metadata and deleted in passes of their own. Only the system calls are
//! timed, each phase apart; making the contents and checking them happens between. With several threads the files
//! are dealt out in turn, and the time of a phase is the mean over the threads.
//!
//! One size must not pay for another. So each has its directory, and nothing is removed before all sizes are done:
//! ext4 looks at the time of death of every inode that was deleted in the last minutes before it takes a new one, which
//! made creation tenfold slower from the third size on. For the same reason the directories are placed apart from
//! those of earlier runs, where the file system lets itself be asked (the attribute `T` of chattr(1)). What is not
//! avoided is that the kernel begins to write the files of one size while those of another are measured.

mod plan;
mod run;
mod scratch;
mod times;

pub use plan::{FilesError, FilesPlan, Phase, PhaseReport, SizeReport};
pub use run::run;
