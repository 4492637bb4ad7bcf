//! Trends of series whose truth is known.
#![forbid(unsafe_code)]

mod nile;
mod simulations;
mod support;
