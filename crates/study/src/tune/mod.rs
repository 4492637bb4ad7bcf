//! Finds settings of the machine that help a server.

mod design;
mod effects;
mod observed;
mod permanent;
mod settings;
#[cfg(test)]
mod simulated;
mod stages;

pub use design::{CROSSED_MAX, Combination, Pair, SETTINGS_MAX};
pub use effects::Effect;
pub use observed::{log_figure, why_lost};
pub use permanent::{Permanent, SYSCTL_FILE, permanent};
pub use settings::{WantedSetting, read_settings};
pub use stages::{
    Bounds, Confirmed, Crossed, Experiment, Extent, Fate, Measured, Screened, Search, Seen, Stage, Together,
    runs_min, search,
};
