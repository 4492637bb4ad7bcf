//! Run files that earlier versions wrote still open (see `data/README.md`).

use std::path::PathBuf;

use pitot_lab::{Run, RunState, VerdictKind, metric};

fn open(name: &str) -> Run {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    Run::open(&path).unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[test]
fn a_run_of_layout_2_has_its_figures_samples_and_reasons() {
    let run = open("layout-2-load.pitot");
    assert_eq!((run.info.schema_version, run.info.state), (2, RunState::Complete));
    assert!(run.is_complete() && run.host_changes.is_empty());
    assert_eq!(run.host_before.get("sysctl", "net.core.somaxconn"), Some("4096"));
    assert_eq!(run.skips.len(), 1);
    let [served, broken] = &run.cells[..] else { panic!("{} cells", run.cells.len()) };
    let throughput = metric::find("throughput").unwrap();
    assert_eq!(served.figures(throughput).len(), 2);
    assert!(served.figures(throughput).iter().all(|(_, rate)| *rate > 1_000.0));
    let first = &served.repetitions[0];
    assert!(first.samples.iter().any(|s| s.server.is_some_and(|tree| tree.private_bytes.is_some())));
    assert!(first.resources.unwrap().server_cpu_s > 0.0);
    assert!(first.server_stats.is_some());
    assert_eq!(broken.verdict().kind, VerdictKind::Failed);
    assert_eq!(broken.repetitions[0].output_tail, "server:\nassertion failed: it holds\n");
}

#[test]
fn a_mailing_of_layout_2_has_its_helper() {
    let run = open("layout-2-mail.pitot");
    assert_eq!(run.plan.helpers[0].name, "dns");
    let mailed = run.cells[0].repetitions[0].load.as_ref().unwrap();
    assert_eq!((mailed.requests.ok, mailed.requests.missed), (100, 0));
}

#[test]
fn a_disk_benchmark_of_layout_2_has_its_phases() {
    let run = open("layout-2-disk.pitot");
    for name in ["throughput", "files-time", "write-time"] {
        let figures = run.cells[0].figures(metric::find(name).unwrap());
        assert!(figures.len() == 1 && figures[0].1 > 0.0, "{name}: {figures:?}");
    }
}
