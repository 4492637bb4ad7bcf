//! The options of `pitot serve dns`.

use std::net::IpAddr;

use clap::Args;
use pitot_meter::units;

/// Its name among the protocols.
pub(crate) const NAME: &str = "dns";

/// The responder of `dns`.
#[derive(Clone, Debug, Args)]
#[command(
    next_help_heading = "Options of dns (a responder without --model; --workers is its number of threads)"
)]
pub(crate) struct DnsArgs {
    /// Number of mail domains to generate.
    #[arg(long, value_name = "N", value_parser = units::count, default_value = "100")]
    pub(crate) domains: u64,
    /// Their names; {} is replaced by the number, from 0.
    #[arg(long, value_name = "NAME", default_value = "d{}.test")]
    pub(crate) pattern: String,
    /// A mail host with its addresses; several share the domains. [default: mx0.sink.test:127.0.0.1]
    #[arg(long, value_name = "HOST:ADDRESS[,ADDRESS]", value_parser = mail_host, conflicts_with = "mx_addresses")]
    pub(crate) mx: Vec<(String, Vec<IpAddr>)>,
    /// Number of generated mail hosts: mx0.sink.test ..., with the addresses 127.0.0.1, 127.0.0.2 ...
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) mx_addresses: u32,
    /// Number of domains, counted from the last, that have an address record instead of an MX record.
    #[arg(long, value_name = "N", value_parser = units::count, default_value = "0")]
    pub(crate) without_mx: u64,
}

fn mail_host(text: &str) -> Result<(String, Vec<IpAddr>), String> {
    let (name, addresses) = text.split_once(':').ok_or("a mail host needs an address: mx.test:127.0.0.1")?;
    let address = |text: &str| text.parse::<IpAddr>().map_err(|_| format!("`{text}` is not an address"));
    let addresses = addresses.split(',').map(address).collect::<Result<_, _>>()?;
    Ok((name.to_owned(), addresses))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mail_hosts_are_a_name_and_addresses() {
        let host = mail_host("mx.test:127.0.0.1,::1").unwrap();
        assert_eq!((host.0.as_str(), host.1.len()), ("mx.test", 2));
        assert_eq!(mail_host("mx.test:::1").unwrap().1, ["::1".parse::<IpAddr>().unwrap()]);
        assert!(mail_host("mx.test").is_err() && mail_host("mx.test:").is_err());
    }
}
