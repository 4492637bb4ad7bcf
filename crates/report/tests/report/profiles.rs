//! What a report says of a run with profiles.

use pitot_record::{Profile, ProfileEntry, Run};
use pitot_report::{Format, Profiles, Reported};
use serde_json::Value;

use crate::forms::render;
use crate::slices::{QUIET, SLICED, sliced};

/// A name that would be markup, an attribute or a colour of a terminal if it were not escaped.
const HOSTILE: &str = "a<b>\"'&\u{1b}[31m</script>";

/// A run in which all but the baseline take more time for a function.
fn profiled() -> Run {
    let mut run = sliced(&SLICED, QUIET);
    let baseline = run.plan.baseline.clone().unwrap();
    for cell in &mut run.cells {
        let more = if baseline.matches(&cell.factors) { 0 } else { 60 };
        for repetition in &mut cell.repetitions {
            let noise = u64::from(repetition.block % 3);
            let stacks = [
                ("app`main;app`serve;kernel`__x64_sys_write", 40 + noise),
                ("app`main;app`serve", 20 + more),
            ];
            let hostile = format!("app`main;app`{HOSTILE};libc.so.6`?");
            let entry = |(stack, count): (&str, u64)| ProfileEntry { name: stack.into(), count, ns: 0 };
            let entries = stacks.into_iter().chain([(hostile.as_str(), 40)]).map(entry);
            repetition.profiles = vec![Profile {
                requests: 1_000,
                cpu_ns: 10_000 * (100 + more + noise),
                sees_kernel: true,
                entries: entries.collect(),
                ..Profile::default()
            }];
        }
    }
    run
}

#[test]
fn pages_have_the_flame_graph_of_each_cell_and_a_table() {
    let run = profiled();
    let html = render(&run, Format::Html);
    assert_eq!(html.matches("<div class=\"flames\">").count(), run.cells.len());
    assert!(html.contains(
        "CPU time of loop+poll at 10 connections, compared with thread+blocking at 10 connections"
    ));
    assert!(html.contains("<div class=\"flame more\" data-share=\"0."), "differences have a colour");
    assert!(html.contains(r"a&lt;b&gt;&quot;&#39;&amp;\x1b[31m&lt;/script&gt;"));
    assert_eq!(html.matches("</script").count(), 1, "a name ends no script");
    let markdown = render(&run, Format::Markdown);
    assert!(markdown.contains("| function | share | alone | difference | with calls |"), "{markdown}");
}

#[test]
fn a_terminal_has_the_tree_where_it_is_asked_for() {
    let run = profiled();
    let report = render(&run, Format::Terminal);
    assert!(report.contains("--profile` shows where all of the time goes"), "{report}");
    assert!(!report.contains("├ serve"), "{report}");
    let cells = run.cells.len();
    let profiles = Profiles::of(run).unwrap();
    let tree = profiles.report(Format::Terminal).unwrap();
    assert_eq!(tree.matches("├ serve").count(), cells, "{tree}");
    assert!(tree.contains(r#"└ a<b>"'&\x1b[31m</script>"#) && !tree.contains('\u{1b}'), "{tree}");
    let json: Value = serde_json::from_str(&profiles.report(Format::Json).unwrap()).unwrap();
    assert_eq!(json["cells"].as_array().unwrap().len(), cells);
    let main = &json["cells"][1]["tree"]["calls"][0];
    assert_eq!((&main["name"], &main["share"]), (&"main".into(), &1.0.into()));
    let of = |name: &str| main[name].as_f64().unwrap();
    assert!(of("own_per_request") > 1.4 * of("baseline_per_request"), "{main}");
}

#[test]
fn names_of_the_kernel_are_missed_for_another_reason_than_those_of_programs() {
    let markdown = |stack: &str| {
        let mut run = profiled();
        for profile in
            run.cells.iter_mut().flat_map(|cell| &mut cell.repetitions).flat_map(|r| &mut r.profiles)
        {
            profile.entries.truncate(1);
            profile.entries.push(ProfileEntry { name: stack.into(), count: 160, ns: 0 });
        }
        render(&run, Format::Markdown)
    };
    let of_kernel = markdown("app`main;kernel`?");
    assert!(of_kernel.contains("of the samples are in functions of the kernel, whose names"), "{of_kernel}");
    assert!(of_kernel.contains("--cap-add SYSLOG") && !of_kernel.contains("have no symbols"), "{of_kernel}");
    let of_library = markdown("app`main;libc.so.6`?");
    assert!(
        of_library.contains("of the samples are in functions without a name: the programs"),
        "{of_library}"
    );
    assert!(!of_library.contains("SYSLOG"), "{of_library}");
}

#[test]
fn a_run_without_profiles_has_no_report_of_them() {
    assert!(Profiles::of(sliced(&SLICED, QUIET)).is_none());
}
