//! Which CPUs serve and which make the load.

use std::collections::BTreeMap;
use std::fs;

use pitot_results::Failure;

use crate::cpu_list::{parse_cpu_list, show_cpu_list};

/// CPUs of the servers and of the load generator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuSplit {
    /// Of the servers, ascending.
    pub server: Vec<usize>,
    /// Of the load generator, ascending.
    pub load: Vec<usize>,
}

impl CpuSplit {
    /// True if both have the same CPUs because there are no others.
    pub fn is_shared(&self) -> bool {
        self.server == self.load
    }

    /// The servers' CPUs as a list.
    pub fn server_list(&self) -> String {
        show_cpu_list(&self.server)
    }

    /// The load generator's CPUs as a list.
    pub fn load_list(&self) -> String {
        show_cpu_list(&self.load)
    }
}

/// The word of a plan for all CPUs that this process may use.
pub const ALL_CPUS: &str = "all";

/// Splits the CPUs that this process may use: one half of the cores to each side, threads of a core staying together,
/// unless the plan names them.
///
/// # Errors
/// A sentence if a named CPU is not there or not allowed.
pub fn split_cpus(server: Option<&str>, load: Option<&str>) -> Result<CpuSplit, Failure> {
    let allowed = pitot_sys::affinity::allowed().map_err(|e| {
        Failure::run(format!("the allowed CPUs cannot be read: {e}"), "check that /proc is mounted")
    })?;
    let named = |key: &str, list: Option<&str>| -> Result<Option<Vec<usize>>, Failure> {
        if list == Some(ALL_CPUS) {
            return Ok(Some(allowed.clone()));
        }
        let Some(cpus) = list.and_then(parse_cpu_list) else { return Ok(None) };
        match cpus.iter().find(|cpu| !allowed.contains(cpu)) {
            Some(cpu) => Err(Failure::misuse(
                format!("`{key}` names CPU {cpu}, but only {} may be used", show_cpu_list(&allowed)),
                "name others, or omit the key",
            )),
            None => Ok(Some(cpus)),
        }
    };
    let (server, load) = (named("server-cpus", server)?, named("load-cpus", load)?);
    let siblings = |cpu: usize| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        fs::read_to_string(path).ok().and_then(|text| parse_cpu_list(&text)).unwrap_or_else(|| vec![cpu])
    };
    Ok(split(&allowed, siblings, server, load))
}

fn split(
    allowed: &[usize],
    siblings: impl Fn(usize) -> Vec<usize>,
    server: Option<Vec<usize>>,
    load: Option<Vec<usize>>,
) -> CpuSplit {
    let without = |taken: &[usize]| {
        let rest: Vec<usize> = allowed.iter().copied().filter(|cpu| !taken.contains(cpu)).collect();
        if rest.is_empty() { taken.to_vec() } else { rest }
    };
    match (server, load) {
        (Some(server), Some(load)) => CpuSplit { server, load },
        (Some(server), None) => CpuSplit { load: without(&server), server },
        (None, Some(load)) => CpuSplit { server: without(&load), load },
        (None, None) => {
            let mut cores: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
            for &cpu in allowed {
                let core = siblings(cpu).into_iter().min().unwrap_or(cpu);
                cores.entry(core).or_default().push(cpu);
            }
            let cores: Vec<Vec<usize>> = cores.into_values().collect();
            if cores.len() < 2 {
                // Two threads of one core are no two CPUs, but better than one.
                let (server, load) = allowed.split_at(allowed.len().div_ceil(2));
                let load = if load.is_empty() { server } else { load };
                return CpuSplit { server: server.to_vec(), load: load.to_vec() };
            }
            let (server, load) = cores.split_at(cores.len() / 2);
            let flat = |cores: &[Vec<usize>]| {
                let mut cpus = cores.concat();
                cpus.sort_unstable();
                cpus
            };
            CpuSplit { server: flat(server), load: flat(load) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(cpu: usize) -> Vec<usize> {
        vec![cpu % 4, cpu % 4 + 4]
    }

    fn alone(cpu: usize) -> Vec<usize> {
        vec![cpu]
    }

    #[test]
    fn cores_are_halved_and_their_threads_stay_together() {
        let eight: Vec<usize> = (0..8).collect();
        let halves = split(&eight, pairs, None, None);
        assert_eq!((halves.server_list().as_str(), halves.load_list().as_str()), ("0-1,4-5", "2-3,6-7"));
        let two = split(&[0, 1], alone, None, None);
        assert_eq!((two.server, two.load), (vec![0], vec![1]));
        let three = split(&[0, 1, 2], alone, None, None);
        assert_eq!((three.server, three.load), (vec![0], vec![1, 2]));
        let one_core = split(&[0, 4], pairs, None, None);
        assert_eq!((one_core.server, one_core.load), (vec![0], vec![4]));
    }

    #[test]
    fn one_cpu_is_shared_and_named_ones_are_obeyed() {
        let one = split(&[3], alone, None, None);
        assert!(one.is_shared());
        assert_eq!(one.server, [3]);
        let named = split(&[0, 1, 2], alone, Some(vec![1, 2]), None);
        assert_eq!(named.load, [0]);
        let named = split(&[0, 1, 2], alone, None, Some(vec![2]));
        assert_eq!(named.server, [0, 1]);
        let all = split_cpus(Some(ALL_CPUS), Some(ALL_CPUS)).unwrap();
        assert!(all.is_shared());
        assert_eq!(all.server, pitot_sys::affinity::allowed().unwrap());
        assert!(split_cpus(Some("60000"), None).unwrap_err().what.contains("CPU 60000"));
    }
}
