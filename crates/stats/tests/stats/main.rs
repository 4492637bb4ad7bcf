//! What is concluded of figures whose truth is known.
#![forbid(unsafe_code)]

mod false_alarms_and_power;
mod nile;
mod simulations;
mod sliced_measurement;
mod support;
