//! Ways to read and write files, behind one contract: queue, commit, reap.
#![forbid(unsafe_code)]
