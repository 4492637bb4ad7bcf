//! Kernels other than the host's, in which cells are carried out as guests.

use serde::{Deserialize, Serialize};

/// The level that is the kernel of the host, outside of any guest.
pub const HOST_KERNEL: &str = "host";

/// The kernel that is a sandbox on this machine's processor.
pub const GVISOR_KERNEL: &str = "gvisor";

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

impl KernelUse {
    /// Whether it runs in a guest. The others, the host's and gVisor, run on this machine's processor, and their times are
    /// times.
    pub fn is_guest(&self) -> bool {
        ![HOST_KERNEL, GVISOR_KERNEL].contains(&self.kernel.as_str())
    }
}

/// Why a kernel makes no cells beside the others of its plan, if it makes none.
pub(super) fn why_not(kernel: &KernelUse, all: &[KernelUse]) -> Option<&'static str> {
    let beside_guests = all.iter().any(KernelUse::is_guest);
    let beside_gvisor = all.iter().any(|other| other.kernel == GVISOR_KERNEL);
    match kernel.kernel.as_str() {
        HOST_KERNEL if beside_guests || !beside_gvisor => Some(
            "the kernel of the host is not in a guest: nothing that is measured on it can be compared with a guest's; run the \
             plan without the factor `kernel` for figures of the host",
        ),
        GVISOR_KERNEL if beside_guests => Some(
            "gVisor is not in a guest: its figures are times on this machine's processor, and nothing that is measured in them \
             can be compared with a guest's; the suite `sandbox` compares it with the kernel of the host",
        ),
        _ => None,
    }
}
