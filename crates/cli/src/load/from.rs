//! `--from RESULT.json`: the run that a result holds, once more.

use std::path::Path;

use clap::{CommandFactory as _, Parser};
use pitot_results::Failure;
use pitot_results::secrets::MASK;
use serde_json::Value;

use super::asked::Words;
use super::options::Load;
use super::repeats::Repeats;

/// The words of a command line, where a later word takes the place of an earlier one.
#[derive(Debug, Parser)]
#[command(name = "load", args_override_self = true)]
struct Repeated {
    #[command(flatten)]
    load: Load,
}

/// Takes a command line apart.
pub(super) fn words(words: &[String]) -> Words {
    Words::of(words, &Repeated::command())
}

/// The load of a result with the options of this command line over it.
pub(super) fn load(file: &Path, given: &[String]) -> Result<Load, Failure> {
    let result = read(file)?;
    let given = words(given);
    let asked = &result["options"]["asked"];
    let Some(list) = asked["arguments"].as_array() else {
        return Err(Failure::misuse(
            format!("{} has no options: an older pitot or another program wrote it", file.display()),
            "run it with its URL and options, and write the result with --json",
        ));
    };
    let mut kept: Vec<String> = list.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let mut before = words(&kept);
    before.url = asked["url"].as_str().map(str::to_owned);
    without_masks(file, &mut before, &given)?;
    if let Some(lost) = before.options.iter().find(|(name, value)| {
        matches!(name.as_str(), "--requests" | "--replay") && value.as_deref() == Some("-")
    }) {
        return Err(Failure::misuse(
            format!(
                "{} does not have the requests, which {} - read from standard input",
                file.display(),
                lost.0
            ),
            "write them to a file and repeat the command with it",
        ));
    }
    kept.clear();
    for (name, value) in before.options.iter().chain(&given.options) {
        match value {
            // So that a value may begin with a dash.
            Some(value) => kept.push(format!("{name}={value}")),
            None => kept.push(name.clone()),
        }
    }
    kept.extend(given.url.clone().or(before.url.clone()));
    let own = std::iter::once("load".to_owned()).chain(kept.iter().cloned());
    let mut load = Repeated::try_parse_from(own)
        .map_err(|e| {
            let text = e.to_string();
            let what = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
            Failure::misuse(
                format!("the options in {} cannot be repeated: {what}", file.display()),
                "give the changed ones after --from",
            )
        })?
        .load;
    load.repeats = Some(Box::new(Repeats {
        words: kept,
        body: asked["body"]["sha256"].as_str().map(str::to_owned),
        requests: result["options"]["requests_from"]["sha256"].as_str().map(str::to_owned),
        file: file.display().to_string(),
    }));
    Ok(load)
}

fn read(file: &Path) -> Result<Value, Failure> {
    let wrong = |why: String| {
        Failure::misuse(
            format!("{} cannot be repeated: {why}", file.display()),
            "name a result of pitot load --json",
        )
    };
    let text = std::fs::read(file).map_err(|e| wrong(e.to_string()))?;
    serde_json::from_slice(&text).map_err(|e| wrong(format!("it is not JSON: {e}")))
}

/// Omits what is masked and given again; the rest cannot be repeated.
fn without_masks(file: &Path, before: &mut Words, given: &Words) -> Result<(), Failure> {
    let gives = |name: &str, part: Option<&str>| {
        let mut options = given.options.iter().filter(|(n, _)| n == name);
        options.any(|(_, value)| match (part, value) {
            (Some(part), Some(value)) => value
                .split([':', '='])
                .next()
                .is_some_and(|name| name.trim().eq_ignore_ascii_case(part.trim())),
            _ => true,
        })
    };
    let lost = |what: &str, fix: String| {
        Err(Failure::misuse(
            format!("in {}, {what} is masked", file.display()),
            format!("{fix}, or write results with --keep-secrets"),
        ))
    };
    let mut kept = Vec::new();
    for (name, value) in std::mem::take(&mut before.options) {
        let masked = value.as_deref().and_then(|value| value.strip_suffix(MASK)).map(str::to_owned);
        match (name.as_str(), masked) {
            ("--basic-auth", Some(_)) => {
                if !gives(&name, None) && !gives("--header", Some("authorization")) {
                    return lost("the password", "give it with --basic-auth USER:PASSWORD".into());
                }
            }
            ("--header", Some(start)) => {
                let header = start.split(':').next().unwrap_or_default();
                if !gives("--header", Some(header)) {
                    return lost(
                        &format!("the header {header}"),
                        format!("give it with -H '{header}: VALUE'"),
                    );
                }
            }
            ("--form", Some(start)) => {
                let field = start.split('=').next().unwrap_or_default();
                if !gives("--form", Some(field)) {
                    return lost(
                        &format!("the field {field}"),
                        format!("give it with --form '{field}=VALUE'"),
                    );
                }
            }
            ("--path", _) if value.as_deref().is_some_and(has_masked_parameter) => {
                if !gives("--path", None) {
                    return lost("a parameter of a path", "give the path with --path".into());
                }
            }
            _ => kept.push((name, value)),
        }
    }
    before.options = kept;
    if given.url.is_none() && before.url.as_deref().is_some_and(has_masked_parameter) {
        return lost("a parameter of the URL", "give the URL again".into());
    }
    let masked_url = before.url.as_ref().is_some_and(|url| url.contains(&format!("://{MASK}@")));
    if masked_url && given.url.is_none() {
        if !gives("--basic-auth", None) {
            return lost(
                "the name and password of the URL",
                "give them with --basic-auth USER:PASSWORD".into(),
            );
        }
        before.url = before.url.as_ref().map(|url| url.replacen(&format!("{MASK}@"), "", 1));
    }
    Ok(())
}

/// Whether a parameter of a query is masked.
fn has_masked_parameter(target: &str) -> bool {
    target.split_once('?').is_some_and(|(_, query)| query.contains(&format!("={MASK}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_command_line_is_taken_apart_as_it_is_parsed() {
        let found =
            words(&split("-c5 -Ln 100 http://h/ --body=x=y --header A:b --json out.json -m PUT --verify"));
        assert_eq!(found.url.as_deref(), Some("http://h/"));
        let options: Vec<(&str, Option<&str>)> =
            found.options.iter().map(|(name, value)| (name.as_str(), value.as_deref())).collect();
        assert_eq!(
            options,
            [
                ("--connections", Some("5")),
                ("--latency", None),
                ("--requests-total", Some("100")),
                ("--body", Some("x=y")),
                ("--header", Some("A:b")),
                ("--json", Some("out.json")),
                ("--method", Some("PUT")),
                ("--verify", None),
            ]
        );
    }

    #[test]
    fn secrets_are_masked() {
        let line = "http://me:s3cret@h/?key=s3cret --basic-auth a:s3cret -HAuthorization:s3cret -H Cookie:a=s3cret -H X:y \
             -H X-Session-Id:s3cret --form password=s3cret --path /a?token=s3cret=3 --form a=b";
        let masked = words(&split(line)).recorded(false);
        assert!(!format!("{masked:?}").contains("s3cret"), "{masked:?}");
        assert_eq!(masked.url.as_deref(), Some("http://***@h/?key=***"));
        assert!(masked.options.contains(&("--form".into(), Some("a=b".into()))));
        assert!(masked.options.contains(&("--header".into(), Some("X:y".into()))));
    }

    fn result(line: &str) -> tempfile::NamedTempFile {
        let (url, arguments) = words(&split(line)).recorded(false).to_json();
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = serde_json::json!({"options": {"asked": {"url": url, "arguments": arguments}}});
        std::fs::write(file.path(), text.to_string()).unwrap();
        file
    }

    #[test]
    fn a_run_is_repeated_with_what_is_given_over_it() {
        let file = result("http://h/ -c 5 -n 100 -H A:b --json x");
        let load = |given: &str| {
            load(file.path(), &split(given).into_iter().filter(|w| !w.is_empty()).collect::<Vec<_>>())
                .unwrap()
        };
        let same = load("");
        assert_eq!((same.url.as_deref(), same.connections), (Some("http://h/"), 5));
        assert_eq!((same.requests_total, same.headers.len()), (Some(100), 1));
        assert!(same.json.is_none());
        let other = load("-c 7 http://other/ -H C:d");
        assert_eq!((other.url.as_deref(), other.connections), (Some("http://other/"), 7));
        assert_eq!(other.headers, ["A:b", "C:d"]);
    }

    #[test]
    fn what_is_masked_must_be_given_anew() {
        for (line, given) in [
            ("http://h/ -H Cookie:a", "-H cookie:b"),
            ("http://h/ --basic-auth a:b", "--basic-auth c:d"),
            ("http://a:b@h/", "--basic-auth c:d"),
            ("http://h/?token=a", "http://h/?token=b"),
            ("http://h/ --path /a?key=b", "--path /a?key=c"),
            ("http://h/ --form password=a", "--form password=b"),
        ] {
            let file = result(line);
            let refused = load(file.path(), &[]).unwrap_err();
            assert!(refused.what.contains("masked") && refused.fix.contains("--keep-secrets"), "{refused}");
            assert!(load(file.path(), &split(given)).is_ok(), "{line}");
        }
    }

    #[test]
    fn what_is_no_result_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(load(file.path(), &[]).unwrap_err().what.contains("not JSON"));
        std::fs::write(file.path(), "{}").unwrap();
        assert!(load(file.path(), &[]).unwrap_err().what.contains("has no options"));
        assert!(load(Path::new("/nonexistent/result"), &[]).is_err());
    }
}
