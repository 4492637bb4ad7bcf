//! Finding the settings of the machine that help a server.

mod design;
mod effects;
#[cfg(test)]
mod simulated;
mod stages;

pub use design::{CROSSED_MAX, Combination, Pair, SETTINGS_MAX};
pub use effects::Effect;
pub use stages::{
    Bounds, Confirmed, Crossed, Experiment, Extent, Fate, Measured, Screened, Search, Seen, Stage, Together,
    runs_min, search,
};
