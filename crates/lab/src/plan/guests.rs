//! Plans whose cells are carried out in guests.

use pitot_results::Failure;

use super::definition::Plan;
use super::kernels::KernelUse;
use super::levels::{FactorLevel, KERNEL_FACTOR};

impl Plan {
    /// Whether its cells are carried out in guests.
    pub fn is_in_guests(&self) -> bool {
        self.factors.iter().any(|factor| factor.name == KERNEL_FACTOR)
    }

    /// The kernel of a cell: what the plan says of the level, or else the installed kernel of its name.
    pub fn kernel_of(&self, factors: &[FactorLevel]) -> Option<KernelUse> {
        let level = &factors.iter().find(|factor| factor.name == KERNEL_FACTOR)?.level;
        let described = self.kernels.iter().find(|kernel| kernel.name == *level);
        Some(described.cloned().unwrap_or_else(|| KernelUse {
            name: level.clone(),
            kernel: level.clone(),
            append: String::new(),
        }))
    }

    /// Refuses a plan that varies the kernel where everything runs on that of the host.
    ///
    /// # Errors
    /// If it does.
    pub fn needs_no_guests(&self, who: &str) -> Result<(), Failure> {
        match self.is_in_guests() {
            false => Ok(()),
            true => Err(Failure::misuse(
                format!("the plan varies `{KERNEL_FACTOR}`, and {who} starts no guests"),
                "use pitot run, without --bus, or take the factor out",
            )),
        }
    }
}
