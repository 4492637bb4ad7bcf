//! The schemes and the options of their URLs, for `pitot load --help`.

use std::fmt::Write as _;

use pitot_client::{CLIENTS, ClientEntry};

/// A section for each scheme.
pub(crate) fn help() -> String {
    let mut text = String::from("Target URLs:");
    for (i, client) in CLIENTS.iter().enumerate() {
        let _ =
            write!(text, "\n  {}\n          {}. {}\n", client.example, capital(client.summary), client.doc);
        if let Some(tls) = client.tls {
            let port = tls.port.map_or(String::new(), |port| format!(", port {port} if the URL names none"));
            let _ = writeln!(text, "          Over TLS: {}://{port}", tls.scheme);
        }
        let same = CLIENTS[..i].iter().find(|earlier| earlier.url_options == client.url_options);
        match same {
            _ if client.url_options.is_empty() => {}
            Some(earlier) => {
                let _ = writeln!(text, "          Options in the query: those of {}://", earlier.scheme);
            }
            None => options(&mut text, client),
        }
    }
    text.truncate(text.trim_end().len());
    text
}

fn options(text: &mut String, client: &ClientEntry) {
    text.push_str("          Options in the query, with their defaults:\n");
    let pairs: Vec<String> = client
        .url_options
        .iter()
        .map(|option| match option.default {
            "" => option.name.to_owned(),
            default => format!("{}={default}", option.name),
        })
        .collect();
    let width = pairs.iter().map(String::len).max().unwrap_or(0);
    for (pair, option) in pairs.iter().zip(client.url_options) {
        let _ = writeln!(text, "            {pair:width$}  {}", option.meaning);
    }
}

fn capital(sentence: &str) -> String {
    let mut chars = sentence.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
