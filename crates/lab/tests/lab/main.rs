//! The run files that the lab still opens.
#![forbid(unsafe_code)]

mod earlier_layouts;
