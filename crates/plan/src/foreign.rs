//! A server on a system that cannot run an agent: commands start it, stop it and print its CPU time.

use serde::{Deserialize, Serialize};

/// Its address and its CPU time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Foreign {
    /// Its address: `10.0.0.9:8080`.
    pub address: String,
    /// A command that prints the CPU time it has used so far; empty if there is none.
    pub cpu_time: Vec<String>,
}

/// Seconds of CPU time in what a command printed: the sum of its lines. `None` if a line has no time in it.
///
/// The last word of a line is a time as `ps -o time=` prints it (`[[DD-]HH:]MM:SS[.FF]`, ps(1) of POSIX and the BSDs), or a
/// number: of nanoseconds if the line contains `nsec`, as with `kstat -p cpu::sys:/cpu_nsec_(user|kernel)/` of illumos, else
/// of seconds.
pub fn cpu_seconds(printed: &str) -> Option<f64> {
    let lines = printed.lines().filter(|line| !line.trim().is_empty());
    let seconds = lines.map(|line| {
        let word = line.split_whitespace().next_back()?;
        let unit = if line.contains("nsec") { 1e-9 } else { 1.0 };
        if word.contains(':') { clock(word) } else { number(word).map(|n| n * unit) }
    });
    // No lines are no measurement.
    seconds.collect::<Option<Vec<f64>>>().filter(|all| !all.is_empty()).map(|all| all.iter().sum())
}

fn clock(word: &str) -> Option<f64> {
    let (days, rest) = match word.split_once('-') {
        Some((days, rest)) => (number(days)?, rest),
        None => (0.0, word),
    };
    let parts: Vec<f64> = rest.split(':').map(number).collect::<Option<_>>()?;
    let seconds = match parts[..] {
        [minutes, seconds] => minutes * 60.0 + seconds,
        [hours, minutes, seconds] => (hours * 60.0 + minutes) * 60.0 + seconds,
        _ => return None,
    };
    Some(days * 86_400.0 + seconds)
}

fn number(word: &str) -> Option<f64> {
    word.parse().ok().filter(|n: &f64| n.is_finite() && *n >= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ps_and_kstat_print_is_read() {
        for (printed, seconds) in [
            ("0:01.25\n", Some(1.25)),
            ("00:00:07\n00:01:00\n\n", Some(67.0)),
            ("  1-02:03:04", Some(93_784.0)),
            ("41 nginx 3:05.50", Some(185.5)),
            ("2.5", Some(2.5)),
            // Two processes, as PowerShell prints them.
            ("1.25\r\n0.5\r\n", Some(1.75)),
            ("cpu:0:sys:cpu_nsec_user\t1500000000\ncpu:1:sys:cpu_nsec_kernel\t500000000", Some(2.0)),
            ("", None),
            ("0:01.25\nno process", None),
            ("1:2:3:4", None),
            ("-5", None),
            ("nan", None),
        ] {
            assert_eq!(cpu_seconds(printed), seconds, "{printed}");
        }
    }
}
