//! The lab: it expands plans, runs cells, does the statistics and writes the run file.
#![forbid(unsafe_code)]
