//! Lists of CPUs as the kernel writes them.

/// The greatest number of a CPU that is believed.
const CPU_MAX: usize = 65_535;

/// The CPUs of a list as the kernel writes it: `0-3,8`.
pub fn parse_cpu_list(text: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',').filter(|p| !p.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last > CPU_MAX {
            return None;
        }
        // A short text may name the same CPUs again and again.
        if cpus.len() + (last - first) > CPU_MAX {
            return None;
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

/// The list of CPUs as the kernel writes it. `cpus` must ascend.
pub(crate) fn show_cpu_list(cpus: &[usize]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &cpu in cpus {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => runs.push((cpu, cpu)),
        }
    }
    let parts: Vec<String> =
        runs.iter().map(|(a, b)| if a == b { a.to_string() } else { format!("{a}-{b}") }).collect();
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists_are_read_and_written_as_the_kernel_does() {
        assert_eq!(parse_cpu_list("0-2,8,4-4\n"), Some(vec![0, 1, 2, 4, 8]));
        assert_eq!(show_cpu_list(&[0, 1, 2, 4, 8]), "0-2,4,8");
        assert_eq!(parse_cpu_list(""), Some(vec![]));
        for wrong in ["a", "3-1", "1-", "0-99999999"] {
            assert_eq!(parse_cpu_list(wrong), None, "{wrong}");
        }
        assert_eq!(parse_cpu_list(&"0-65535,".repeat(100_000)), None, "52 GB of numbers in 800 kB of text");
    }
}
