//! Files of wanted settings: TOML with a line `key = value` for each.

use pitot_results::Failure;

/// A wanted setting, as the user wrote it. Its key may mean several settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedSetting {
    /// The key.
    pub key: String,
    /// The value.
    pub value: String,
}

/// Reads a file of settings, by name in the order of their keys. A key may be quoted or not, and dots of keys and tables
/// mean the same; a value is a text, a number, or true and false.
///
/// # Errors
/// If it is not TOML, or a value has another type.
pub fn read_settings(name: &str, text: &str) -> Result<Vec<WantedSetting>, Failure> {
    let table: toml::Table = text.parse().map_err(|e: toml::de::Error| {
        let line = e.span().map_or(1, |span| text[..span.start.min(text.len())].lines().count().max(1));
        let what = e.message().lines().next().unwrap_or_default().to_owned();
        Failure::misuse(
            format!("line {line} of {name}: {what}"),
            "write a line for each setting, such as \"net.ipv4.tcp_rmem\" = \"4096 131072 6291456\"",
        )
    })?;
    let mut settings = Vec::new();
    add(name, "", table, &mut settings)?;
    Ok(settings)
}

fn add(
    name: &str,
    prefix: &str,
    table: toml::Table,
    settings: &mut Vec<WantedSetting>,
) -> Result<(), Failure> {
    for (key, value) in table {
        let key = if prefix.is_empty() { key } else { format!("{prefix}.{key}") };
        let value = match value {
            toml::Value::Table(table) => {
                add(name, &key, table, settings)?;
                continue;
            }
            toml::Value::String(text) => text,
            toml::Value::Integer(number) => number.to_string(),
            toml::Value::Float(number) => number.to_string(),
            toml::Value::Boolean(on) => if on { "on" } else { "off" }.to_owned(),
            toml::Value::Array(_) | toml::Value::Datetime(_) => {
                return Err(Failure::misuse(
                    format!("{name}: the value of {key} must be a text or a number"),
                    "write one value for each setting; it is compared with the value that the machine has now",
                ));
            }
        };
        settings.push(WantedSetting { key, value });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_quoted_dotted_or_in_tables() {
        let text =
            "\"net.core.somaxconn\" = 4096\nthp.enabled = \"never\"\n[net.ipv4]\ntcp_sack = 0\nx = true\n";
        let settings = read_settings("s.toml", text).unwrap();
        let shown: Vec<String> = settings.iter().map(|s| format!("{}={}", s.key, s.value)).collect();
        let mut sorted = shown.clone();
        sorted.sort_unstable();
        assert_eq!(
            sorted,
            ["net.core.somaxconn=4096", "net.ipv4.tcp_sack=0", "net.ipv4.x=on", "thp.enabled=never"]
        );
    }

    #[test]
    fn what_is_no_setting_is_told_with_its_line() {
        let failure = read_settings("s.toml", "a = 1\nb = = 2\n").unwrap_err();
        assert!(failure.what.starts_with("line 2 of s.toml") && failure.exit_code() == 2, "{failure:?}");
        assert_eq!(read_settings("s.toml", "a = [1, 2]").unwrap_err().exit_code(), 2);
    }
}
