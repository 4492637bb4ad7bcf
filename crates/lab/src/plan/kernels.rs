//! Kernels other than the host's, in which cells are carried out as guests.

use serde::{Deserialize, Serialize};

/// The level that is the kernel of the host, outside of any guest.
pub const HOST_KERNEL: &str = "host";

/// A kernel as a plan starts it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct KernelUse {
    /// The name that levels use.
    pub name: String,
    /// The installed kernel (`pitot kernel list`).
    pub kernel: String,
    /// Its parameters, besides those that every guest has.
    pub append: String,
}

/// Why a level of the factor makes no cells, if it makes none.
pub(super) fn why_not(level: &str) -> Option<&'static str> {
    (level == HOST_KERNEL).then_some(
        "the kernel of the host is not in a guest: nothing that is measured on it can be compared with a guest's; run the plan \
         without the factor `kernel` for figures of the host",
    )
}
