//! Permanent settings: a file for sysctl.d(5), and commands for settings that are not kernel parameters.

/// The path of the file. Files are read in the order of their names, and the last one wins.
pub const SYSCTL_FILE: &str = "/etc/sysctl.d/90-pitot.conf";

/// Settings as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permanent {
    /// The content of [`SYSCTL_FILE`]; empty if no kernel parameter is among them.
    pub sysctl: String,
    /// Commands for the others, for each boot.
    pub commands: Vec<String>,
}

/// The text for `settings`, concrete keys with their values. `reason` is a comment in the file.
pub fn permanent(settings: &[(String, String)], reason: &str) -> Permanent {
    let (sysctls, others): (Vec<_>, Vec<_>) = settings
        .iter()
        .partition(|(key, _)| pitot_host::setting::of(key).is_some_and(|s| s.name == "sysctl"));
    let mut sysctl = String::new();
    if !sysctls.is_empty() {
        reason.lines().for_each(|line| sysctl += &format!("# {line}\n"));
        sysctls.iter().for_each(|(key, value)| sysctl += &format!("{key} = {value}\n"));
    }
    let command = |(key, value): &(String, String)| format!("pitot host apply '{key}={value}'");
    Permanent { sysctl, commands: others.into_iter().map(command).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_parameters_go_into_the_file_and_the_rest_is_commands() {
        let set = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let kept = permanent(
            &[set("net.ipv4.tcp_rmem", "4096 131072 6291456"), set("thp.enabled", "never")],
            "Why.\nHow.",
        );
        assert_eq!(kept.sysctl, "# Why.\n# How.\nnet.ipv4.tcp_rmem = 4096 131072 6291456\n");
        assert_eq!(kept.commands, ["pitot host apply 'thp.enabled=never'"]);
        assert_eq!(permanent(&[], "Why."), Permanent::default());
    }
}
