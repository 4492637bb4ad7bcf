//! What a held load cannot do.

use pitot_meter::Nanos;
use pitot_results::Failure;

use crate::options::Options;

/// Refuses options that have does not apply for a held load.
pub(super) fn check(options: &Options) -> Result<(), Failure> {
    let paces = ["stages", "search", "replay"];
    let in_slices = "a held load runs for as long as each `run` says";
    let refused = [
        ("-d", options.duration.is_some(), in_slices),
        ("-n", options.requests.is_some(), in_slices),
        ("--warmup", options.warmup > Nanos::ZERO, "run a slice and ignore its answer"),
        ("--search", options.pacing.search.is_some(), "open a group for each rate"),
        ("--stages", options.pacing.stages.is_some(), "open a group for each rate"),
        ("--pace", options.pace.as_deref().is_some_and(|p| paces.contains(&p)), "open a group for each rate"),
        (
            "--storm",
            options.workload.storm,
            "remove it: the connections of a held load are open before it runs",
        ),
        (
            "--idle-trickle",
            options.workload.idle_trickle.is_some(),
            "remove it: nothing is sent between slices",
        ),
        ("--browser", options.workload.browser.is_some(), "remove it: a page does not end with a slice"),
        ("--processes", options.processes.is_some_and(|n| n > 1), "remove it: a held load is one process"),
        (
            "--requests -",
            options.requests_file.as_deref().is_some_and(|file| file.as_os_str() == "-"),
            "name a file: commands come from standard input",
        ),
        (
            "--wsess",
            options.sessions.wsess.is_some(),
            "sessions last longer than slices: run them without --hold",
        ),
        (
            "--wsesslog",
            options.sessions.wsesslog.is_some(),
            "sessions last longer than slices: run them without --hold",
        ),
        ("--wlog", options.sessions.wlog.is_some(), "send a file with --requests"),
        ("--replay", options.replay.is_some(), "send its requests with --requests, at a rate of each group"),
        ("--abort-on", !options.abort_on.is_empty(), "compare the figures of the slices"),
        ("--fail-if", !options.fail_if.is_empty(), "compare the figures of the slices"),
    ];
    match refused.iter().find(|(_, given, _)| *given) {
        Some((option, _, fix)) => {
            Err(Failure::misuse(format!("{option} does not apply to a held load"), *fix))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_meaning_is_refused_with_a_fix() {
        assert!(check(&Options::new("http://h/")).is_ok());
        let changes: [fn(&mut Options); 13] = [
            |o| o.duration = Some(Nanos(1)),
            |o| o.requests = Some(1),
            |o| o.warmup = Nanos(1),
            |o| o.pacing.search = Some("p99 < 1ms".into()),
            |o| o.pacing.stages = Some("1:2:3s".into()),
            |o| o.pace = Some("search".into()),
            |o| o.workload.storm = true,
            |o| o.workload.idle_trickle = Some(Nanos(1)),
            |o| o.workload.browser = Some(6),
            |o| o.processes = Some(2),
            |o| o.replay = Some("access.log".into()),
            |o| o.requests_file = Some("-".into()),
            |o| o.fail_if = vec!["p99 > 5ms".into()],
        ];
        for change in changes {
            let mut options = Options::new("http://h/");
            change(&mut options);
            let failure = check(&options).unwrap_err();
            assert!(failure.what.contains("does not apply") && !failure.fix.is_empty(), "{failure}");
        }
    }
}
