//! A comparison over TLS: which certificate the servers that Pitot configures have.

use pitot_plan::{Catalog, suite};
use pitot_results::Failure;

use super::server::{Server, ServerKind};

/// Certificate and key in the private directory of a server.
pub(super) const OPTIONS: &str = "tls = \"{dir}/cert.pem\"\nkey = \"{dir}/key.pem\"\n";

/// The protocol of the catalog that a URL of TLS asks for: `http` of `https`.
pub(super) fn protocol<'a>(scheme: &str, catalog: &'a Catalog) -> Option<&'a str> {
    let of_scheme =
        catalog.protocols.iter().find(|p| p.tls_at_once && p.tls_scheme.as_deref() == Some(scheme));
    of_scheme.map(|p| p.name.as_str())
}

/// Whether one of the servers shows the certificate of [`files`].
///
/// # Errors
/// If a target has no TLS configuration, or the load trusts only other authorities.
pub(super) fn is_configured(servers: &[Server], load_options: &[String]) -> Result<bool, Failure> {
    let mut configured = None;
    for server in servers {
        match &server.kind {
            ServerKind::Command(_) => continue,
            ServerKind::Target(target) if target.settings.iter().all(|setting| setting.name != "tls") => {
                return Err(Failure::misuse(
                    format!("`{}` has no TLS configuration", server.name),
                    "start it with your own command that contains {address}",
                ));
            }
            ServerKind::Target(_) | ServerKind::Architecture { .. } => configured = Some(&server.name),
        }
    }
    match (configured, load_options.iter().any(|option| is_named(option, "tls-ca"))) {
        (Some(name), true) => Err(Failure::misuse(
            format!("`{name}` uses a certificate of Pitot, which no authority of tls-ca issued"),
            "omit tls-ca: the load then accepts any certificate",
        )),
        (configured, _) => Ok(configured.is_some()),
    }
}

/// Whether an option of the command line, `NAME=VALUE`, has that name.
pub(super) fn is_named(option: &str, name: &str) -> bool {
    option.trim_start_matches('-').split('=').next() == Some(name)
}

/// The entries of `[files]` that put the certificate and its key there: those of the suite `tls`.
pub(super) fn files() -> &'static str {
    let text = suite("tls").map_or("", |suite| suite.text);
    text.find("\"cert.pem\" = ").map_or("", |start| &text[start..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suite_has_the_certificate_and_its_key_at_its_end() {
        let files = files();
        assert!(files.starts_with("\"cert.pem\" = \"\"\"\n-----BEGIN CERTIFICATE-----"), "{files}");
        assert!(files.contains("\"key.pem\" = ") && !files.contains("\n["), "{files}");
    }

    #[test]
    fn the_name_of_an_option_is_told_from_others_that_begin_alike() {
        assert!(is_named("--tls-ca=x", "tls-ca") && is_named("insecure", "insecure"));
        assert!(!is_named("tls-cache=x", "tls-ca"));
    }
}
