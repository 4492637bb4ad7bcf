//! Kernels other than the host's, on which cells run.

use serde::{Deserialize, Serialize};

/// The level for the kernel of the host.
pub const HOST_KERNEL: &str = "host";

/// The kernel that is gVisor, a sandbox.
pub const GVISOR_KERNEL: &str = "gvisor";

/// A kernel as a plan starts it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct KernelUse {
    /// The name that levels use.
    pub name: String,
    /// The installed kernel (`pitot kernel list`).
    pub kernel: String,
    /// Additional boot parameters.
    pub append: String,
}

impl KernelUse {
    /// Whether it runs in a guest, where times are not those of a real machine.
    pub fn is_guest(&self) -> bool {
        ![HOST_KERNEL, GVISOR_KERNEL].contains(&self.kernel.as_str())
    }
}

/// Why a kernel gives no cells in its plan, if so.
pub(super) fn why_not(kernel: &KernelUse, all: &[KernelUse]) -> Option<&'static str> {
    let beside_guests = all.iter().any(KernelUse::is_guest);
    let beside_gvisor = all.iter().any(|other| other.kernel == GVISOR_KERNEL);
    match kernel.kernel.as_str() {
        HOST_KERNEL if beside_guests || !beside_gvisor => Some(
            "the kernel of the host does not run in a guest, so its figures cannot be compared with those of guests; to \
             measure the host, run the plan without the factor `kernel`",
        ),
        GVISOR_KERNEL if beside_guests => Some(
            "gVisor does not run in a guest, so its figures cannot be compared with those of guests; the suite `sandbox` \
             compares it with the kernel of the host",
        ),
        _ => None,
    }
}
