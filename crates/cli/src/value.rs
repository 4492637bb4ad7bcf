//! Values on the command line that the units of pitot-meter do not cover.

use std::net::SocketAddr;

use pitot_meter::units;
use pitot_serve::Address;

/// `0,2-3`: CPU numbers.
pub(crate) fn cpus(text: &str) -> Result<Cpus, String> {
    let number = |n: &str| n.trim().parse::<usize>().map_err(|_| format!("`{n}` is not a CPU number"));
    let mut cpus = Vec::new();
    for part in text.split(',') {
        match part.split_once('-') {
            None => cpus.push(number(part)?),
            Some((first, last)) => {
                let (first, last) = (number(first)?, number(last)?);
                if first > last || last - first > 4096 {
                    return Err(format!("`{part}` is not a range of CPUs, such as 0-3"));
                }
                cpus.extend(first..=last);
            }
        }
    }
    Ok(Cpus(cpus))
}

/// `127.0.0.1:9100`: where to listen.
pub(crate) fn listen(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix(':').or_else(|| text.strip_prefix("localhost:")).unwrap_or(text);
    text.parse().map_err(|_| match port.parse::<u16>() {
        Ok(port) => {
            format!("add an address: 127.0.0.1:{port} for this machine, 0.0.0.0:{port} for other machines")
        }
        Err(_) => "not an IP address and a port, such as 127.0.0.1:9100 or [::1]:9100".into(),
    })
}

/// `127.0.0.1:9100` or `unix:PATH`: where to listen.
pub(crate) fn address(text: &str) -> Result<Address, String> {
    match text.strip_prefix("unix:") {
        Some("") => Err("name the path of the socket, as in unix:/run/pitot.sock".into()),
        Some(path) => Ok(Address::Unix(path.into())),
        None => listen(text).map(Address::Tcp),
    }
}

/// `660`: permissions of a file, in octal.
pub(crate) fn mode(text: &str) -> Result<u32, String> {
    match u32::from_str_radix(text, 8) {
        Ok(mode) if mode <= 0o777 => Ok(mode),
        _ => Err("not the permissions of a file in octal, such as 660".into()),
    }
}

/// A list of CPUs. (clap would take a plain vector for an option that may be repeated.)
#[derive(Clone, Debug, Default)]
pub(crate) struct Cpus(pub(crate) Vec<usize>);

/// A time of whole seconds, one at least: what is counted by the second is cut by the second.
pub(crate) fn whole_seconds(text: &str) -> Result<u64, String> {
    seconds(text)?.ok_or_else(|| "it is not a whole number of seconds".into())
}

/// The same; none if it is a time, and not of whole seconds.
pub(crate) fn seconds(text: &str) -> Result<Option<u64>, String> {
    let length = units::duration(text).map_err(|e| e.to_string())?;
    let is_whole = length.0.is_multiple_of(1_000_000_000) && length.0 > 0;
    Ok(is_whole.then_some(length.0 / 1_000_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_refused_with_the_addresses_that_it_may_mean() {
        assert_eq!(listen("[::1]:80").unwrap().port(), 80);
        for word in ["9100", ":9100", "localhost:9100"] {
            assert!(listen(word).unwrap_err().contains("127.0.0.1:9100"), "{word}");
        }
        assert!(listen("host:80").unwrap_err().contains("not an IP address"));
    }

    #[test]
    fn cpu_lists() {
        assert_eq!(cpus("0,2-4").unwrap().0, [0, 2, 3, 4]);
        for wrong in ["", "a", "3-1", "0-99999999"] {
            assert!(cpus(wrong).is_err(), "{wrong}");
        }
    }
}
