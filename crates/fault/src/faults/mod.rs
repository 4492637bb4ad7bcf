//! The faults, one file each.

mod bandwidth;
mod black_hole;
mod clock_step;
mod cpu_hog;
mod descriptors;
mod disk_full;
mod dns_fails;
mod dns_lies;
mod garbage;
mod half_open;
mod kill;
mod latency;
mod loss;
mod memory;
mod reset;
mod restart;
mod slow_readers;
mod stop;

pub use disk_full::can_be_filled;

use crate::entry::Fault;

/// All faults, in the order in which they are listed.
pub static FAULTS: &[&Fault] = &[
    &stop::FAULT,
    &kill::FAULT,
    &restart::FAULT,
    &reset::FAULT,
    &latency::FAULT,
    &bandwidth::FAULT,
    &black_hole::FAULT,
    &loss::FAULT,
    &dns_fails::FAULT,
    &dns_lies::FAULT,
    &slow_readers::FAULT,
    &half_open::FAULT,
    &garbage::FAULT,
    &descriptors::FAULT,
    &memory::FAULT,
    &cpu_hog::FAULT,
    &disk_full::FAULT,
    &clock_step::FAULT,
];

/// The fault of this name.
pub fn find(name: &str) -> Option<&'static Fault> {
    FAULTS.iter().copied().find(|fault| fault.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::OPTIONS;

    #[test]
    fn faults_are_told_apart_documented_and_take_known_options() {
        for (index, fault) in FAULTS.iter().enumerate() {
            assert!(FAULTS[..index].iter().all(|other| other.name != fault.name), "{}", fault.name);
            assert!(fault.summary.len() > 20 && fault.doc.ends_with('.'), "{}", fault.name);
            for option in fault.takes {
                assert!(OPTIONS.iter().any(|o| o.name == *option), "{} takes {option}", fault.name);
            }
        }
        for option in OPTIONS {
            assert!(FAULTS.iter().any(|fault| fault.takes.contains(&option.name)), "{}", option.name);
        }
    }
}
