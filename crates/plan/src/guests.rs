//! Plans whose cells run in guests.

use pitot_results::Failure;

use super::definition::Plan;
use super::kernels::{KernelUse, why_not};
use super::levels::{FactorLevel, KERNEL_FACTOR};

impl Plan {
    /// Whether its cells run in guests.
    pub fn is_in_guests(&self) -> bool {
        self.factors.iter().any(|factor| factor.name == KERNEL_FACTOR)
    }

    /// The kernel of a cell: the plan's description of the level, else the installed kernel of that name.
    pub fn kernel_of(&self, factors: &[FactorLevel]) -> Option<KernelUse> {
        let level = &factors.iter().find(|factor| factor.name == KERNEL_FACTOR)?.level;
        Some(self.kernel_named(level))
    }

    /// The kernel of a level.
    pub fn kernel_named(&self, level: &str) -> KernelUse {
        let described = self.kernels.iter().find(|kernel| kernel.name == *level);
        described.cloned().unwrap_or_else(|| KernelUse {
            name: level.to_owned(),
            kernel: level.to_owned(),
            append: String::new(),
        })
    }

    /// Why a level of the factor gives no cells, if so.
    pub(super) fn why_no_kernel(&self, level: &str) -> Option<&'static str> {
        let levels =
            self.factors.iter().filter(|factor| factor.name == KERNEL_FACTOR).flat_map(|f| &f.levels);
        let all: Vec<KernelUse> = levels.map(|level| self.kernel_named(&level.to_string())).collect();
        why_not(&self.kernel_named(level), &all)
    }

    /// # Errors
    /// If the plan varies the kernel, for commands that start no guests.
    pub fn needs_no_guests(&self, who: &str) -> Result<(), Failure> {
        match self.is_in_guests() {
            false => Ok(()),
            true => Err(Failure::misuse(
                format!("the plan varies `{KERNEL_FACTOR}`, and {who} starts no guests"),
                "use pitot run without --bus, or remove the factor",
            )),
        }
    }
}
