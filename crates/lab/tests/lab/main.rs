//! What the lab concludes, and the run files it still opens.
#![forbid(unsafe_code)]

mod earlier_layouts;
mod false_alarms_and_power;
mod sliced_measurement;
