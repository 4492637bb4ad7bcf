//! The conditions of a run: which of them its figures can ever meet.

use pitot_results::Failure;

use crate::options::Options;
use pitot_drive::condition::{Condition, Times};
use pitot_drive::pace::Pace;

/// The conditions that end a run, and those that make it fail.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conditions {
    pub(crate) abort_on: Vec<Condition>,
    pub(crate) fail_if: Vec<Condition>,
}

impl Conditions {
    /// Reads and checks the conditions of a run.
    ///
    /// # Errors
    /// If one of them makes no sense, or is about times that the run will not have.
    pub(crate) fn new(
        options: &Options,
        pace: &Pace,
        is_tls: bool,
        has_statuses: bool,
    ) -> Result<Conditions, Failure> {
        let all = Conditions {
            abort_on: conditions(&options.abort_on, "--abort-on")?,
            fail_if: conditions(&options.fail_if, "--fail-if")?,
        };
        if let Some(late) = all.abort_on.iter().find(|c| !c.is_of_replies()) {
            return Err(Failure::misuse(
                format!("`{late}` is known only at the end of the run"),
                "write it with --fail-if; --abort-on takes figures of replies, and errors, missed and rate",
            ));
        }
        let searched = match pace {
            Pace::Search(search) => search.conditions(),
            Pace::Closed { .. } | Pace::Open(_) => &[],
        };
        let pages = options.workload.browser.is_some();
        let resumed = is_tls && options.tls.resume != Some(false);
        for condition in all.fail_if.iter().chain(searched) {
            let missing = match condition.times() {
                None if condition.is_of_statuses() && !has_statuses => {
                    ("the statuses of replies", "count wrong replies as errors, as in 'errors > 1%'")
                }
                Some(Times::Handshake) if !is_tls => ("a TLS handshake", "use an https:// URL"),
                Some(Times::Resumption) if !resumed => {
                    ("a resumed TLS session", "use an https:// URL, and leave --tls-resume off out")
                }
                Some(Times::Page) if !pages => ("pages", "load pages as a browser does (--browser)"),
                _ => continue,
            };
            return Err(Failure::misuse(
                format!("`{condition}` needs {}, and this run has none", missing.0),
                format!("{}, or leave the condition out", missing.1),
            ));
        }
        Ok(all)
    }
}

fn conditions(texts: &[String], flag: &str) -> Result<Vec<Condition>, Failure> {
    let mut all = Vec::new();
    for text in texts {
        let several = Condition::parse_all(text).map_err(|e| {
            Failure::misuse(e.to_string(), format!("write it like {flag} 'p99 > 5ms, errors > 1%'"))
        })?;
        all.extend(several);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use pitot_meter::Nanos;

    use super::*;

    fn read(url: &str, change: impl FnOnce(&mut Options)) -> Result<Conditions, Failure> {
        let mut options = Options::new(url);
        change(&mut options);
        let pace = Pace::Closed { think: Nanos::ZERO };
        Conditions::new(&options, &pace, url.starts_with("https"), url.starts_with("http"))
    }

    #[test]
    fn a_condition_on_times_that_the_run_will_not_have_is_refused() {
        for (text, word) in [
            ("handshake p99 > 5ms", "--"),
            ("resumption p99 > 5ms", "--tls-resume"),
            ("page p99 > 5s", "--browser"),
        ] {
            let refused = read("http://h/", |o| o.fail_if = vec![text.into()]).unwrap_err();
            assert!(refused.what.contains(text) && refused.fix.contains(word) || word == "--", "{refused:?}");
        }
        assert!(read("https://h/", |o| o.fail_if = vec!["handshake p99 > 5ms".into()]).is_ok());
        let full = |o: &mut Options| {
            o.tls.resume = Some(false);
            o.fail_if = vec!["resumption p99 > 5ms".into()];
        };
        assert!(read("https://h/", full).is_err());
        let early = read("https://h/", |o| o.abort_on = vec!["connect p99 > 5ms".into()]).unwrap_err();
        assert!(early.fix.contains("--fail-if"), "{early:?}");
        let status = |o: &mut Options| o.fail_if = vec!["status 5xx > 1%".into()];
        assert!(read("http://h/", status).is_ok());
        assert!(read("redis://h/", status).unwrap_err().what.contains("the statuses of replies"));
        for late in ["status 5xx > 1%", "first-byte p99 > 5ms", "gap max > 1s"] {
            assert!(read("http://h/", |o| o.abort_on = vec![late.into()]).is_err(), "{late}");
        }
    }
}
