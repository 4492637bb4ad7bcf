//! Options of other load generators and servers, which people type from habit: what takes their place here.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// A subcommand, the options as they are typed, and the advice.
type Advice = (&'static str, &'static [&'static str], &'static str);

const PORT: &str = "the port is part of the URL: http://127.0.0.1:8080/";
const LISTEN: &str = "the address and the port are --listen, as in --listen 127.0.0.1:9100";

const ADVICE: &[Advice] = &[
    ("load", &["--request"], "the method of the requests is -X"),
    ("load", &["--port", "-p", "--host"], PORT),
    ("load", &["--data", "--data-raw", "--data-binary"], "the body of the requests is --body"),
    ("load", &["-D"], "a file with the body of the requests is --body-file"),
    ("load", &["--data-urlencode", "-F"], "fields of a form are --form name=value, and files name=@FILE"),
    ("load", &["-A", "-U"], "how the client calls itself is --user-agent"),
    (
        "load",
        &["-b", "-C", "--cookie"],
        "cookies of replies are kept with --cookies; a first one is -H 'Cookie: name=value'",
    ),
    ("load", &["--location", "--redirects", "--max-redirects"], "redirects are followed with --follow N"),
    ("load", &["-q", "-r", "--qps", "--rps"], "the rate is -R"),
    ("load", &["-z"], "the length of the run is -d"),
    ("load", &["-u", "--user", "-a"], "name and password are --basic-auth USER:PASSWORD"),
    ("load", &["--cacert"], "the authorities to trust are --tls-ca"),
    ("load", &["-E", "--cert"], "the client's certificate is --tls-cert, and its key --tls-key"),
    ("load", &["-s", "--script"], "different requests are --path or --requests"),
    ("serve", &["--port", "-p", "--host", "--bind", "--address", "-l"], LISTEN),
    ("serve", &["--threads", "-t"], "the number of threads, processes or loops is --workers"),
];

/// What -d is to curl.
const DATA: &str = "the body of the requests is --body; -d is the length of the run";

/// Adds the advice for an unknown option, or for a value that belongs to another program's option of the same name, to
/// the error that reports it.
pub(crate) fn advise(mut error: clap::Error) -> clap::Error {
    let Some(command) = std::env::args().nth(1) else { return error };
    if let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue)
        && let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg)
        && (command.as_str(), error.kind()) == ("load", ErrorKind::ValueValidation)
        && option.starts_with("--duration")
        && is_data(value)
    {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![DATA.into()]));
    }
    if let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg)
        && error.kind() == ErrorKind::UnknownArgument
        && let Some(advice) = find(&command, option)
    {
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
    }
    error
}

/// Whether a value is one that curl would send: JSON, a form, or the name of a file.
fn is_data(value: &str) -> bool {
    value.starts_with(['{', '[', '"', '@']) || value.contains('=')
}

fn find(command: &str, option: &str) -> Option<&'static str> {
    let name = option.split('=').next().unwrap_or_default();
    let advice = ADVICE.iter().find(|(of, options, _)| *of == command && options.contains(&name));
    advice.map(|(_, _, advice)| *advice)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn no_option_of_ours_is_foreign() {
        let pitot = crate::Pitot::command();
        for (command, options, _) in ADVICE {
            let command = pitot.find_subcommand(command).unwrap();
            for option in *options {
                let known = command.get_arguments().any(|arg| {
                    arg.get_long().is_some_and(|long| *option == format!("--{long}"))
                        || arg.get_short().is_some_and(|short| *option == format!("-{short}"))
                });
                assert!(!known, "{} {option}", command.get_name());
            }
        }
        assert_eq!(find("load", "--port=80"), Some(PORT));
        assert_eq!(find("load", "-c"), None);
    }
}
