//! Plans whose cells are carried out in guests.

use pitot_results::Failure;

use super::definition::Plan;
use super::kernels::{KernelUse, why_not};
use super::levels::{FactorLevel, KERNEL_FACTOR};

impl Plan {
    /// Whether its cells are carried out in guests.
    pub fn is_in_guests(&self) -> bool {
        self.factors.iter().any(|factor| factor.name == KERNEL_FACTOR)
    }

    /// The kernel of a cell: what the plan says of the level, or else the installed kernel of its name.
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

    /// Why a level of the factor makes no cells, if it makes none.
    pub(super) fn why_no_kernel(&self, level: &str) -> Option<&'static str> {
        let levels =
            self.factors.iter().filter(|factor| factor.name == KERNEL_FACTOR).flat_map(|f| &f.levels);
        let all: Vec<KernelUse> = levels.map(|level| self.kernel_named(&level.to_string())).collect();
        why_not(&self.kernel_named(level), &all)
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
