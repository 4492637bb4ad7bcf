//! Users with source addresses of their own.

use pitot_meter::units;
use pitot_results::Failure;

use crate::plan::LoadPlan;
use pitot_drive::engine::Owners;
use pitot_drive::share::Share;

impl LoadPlan {
    /// Which users the slots of one thread belong to: active ones first, then idle ones.
    pub(crate) fn owners(&self, share: Share) -> Owners {
        let (mut owners, mut users) = (Owners { active: 0, unit: 1, slots: 0, idle: 0 }, 0);
        for (index, (_, group)) in self.groups.iter().enumerate() {
            let of_group = group.connections / group.unit;
            let first = (users + share.before(of_group)) as u32;
            if index == 0 {
                (owners.active, owners.unit) = (first, group.unit as u32);
                owners.slots = group.part(share) as u32;
            } else {
                owners.idle = first;
            }
            users += of_group;
        }
        owners
    }

    /// Checks that there are as many addresses as users, if each is to have one of its own.
    pub(crate) fn check_owners(&self) -> Result<(), Failure> {
        let users: u64 = self.groups.iter().map(|(_, group)| group.connections / group.unit).sum();
        match &self.sources {
            Some(sources) if self.source_per_user && users > u64::from(sources.count) => {
                Err(Failure::misuse(
                    format!(
                        "{} need an address each, and --source has {}",
                        units::counted(users, "user", "users"),
                        units::counted(sources.count.into(), "address", "addresses")
                    ),
                    format!(
                        "connect from more addresses, on loopback with --source 127.0.0.0/{}",
                        prefix(users)
                    ),
                ))
            }
            _ => Ok(()),
        }
    }
}

/// The length of the prefix of a network with so many addresses for hosts.
fn prefix(users: u64) -> u32 {
    32 - (users + 2).next_power_of_two().ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;

    #[test]
    fn users_of_all_threads_are_different_and_there_is_an_address_for_each() {
        let mut options = Options::new("http://127.0.0.1:1/");
        options.workload.connections = 7;
        options.workload.browser = Some(4);
        options.workload.idle = 5;
        options.source_per_user = true;
        options.source = Some("127.0.0.0/28".into());
        let plan = LoadPlan::new(&options).unwrap();
        let parts: Vec<Owners> = (0..3).map(|index| plan.owners(Share { index, count: 3 })).collect();
        let seen: Vec<(u32, u32, u32)> = parts.iter().map(|o| (o.active, o.slots, o.idle)).collect();
        assert_eq!(seen, [(0, 12, 7), (3, 8, 9), (5, 8, 11)]);
        assert!(plan.check_owners().is_ok());
        options.workload.idle = 8;
        let failure = LoadPlan::new(&options).unwrap().check_owners().unwrap_err();
        assert!(failure.fix.ends_with("/27"), "{failure}");
    }
}
