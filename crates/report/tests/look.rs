mod support;
use pitot_report::*;
#[test]
fn look() {
    let d = tempfile::tempdir().unwrap();
    let f = support::Fixture {
        servers: &[
            "fork+blocking",
            "prefork+blocking",
            "thread+blocking",
            "pool+blocking",
            "loop+poll",
            "loop+epoll-lt",
            "loop+epoll-et",
            "loop+uring",
        ],
        levels: &[1, 10, 100, 1000, 5000],
        repetitions: 8,
        slowdown: 1.0,
        seed: 3,
    };
    let run = f.run(&d.path().join("a.pitot"));
    let g = support::Fixture {
        servers: &["thread+blocking", "loop+epoll-et", "loop+uring"],
        levels: &[10, 100, 1000],
        repetitions: 8,
        slowdown: 1.07,
        seed: 4,
    };
    let two = g.run(&d.path().join("b.pitot"));
    for (format, name) in [(Format::Terminal, "txt"), (Format::Html, "html"), (Format::Markdown, "md")] {
        std::fs::write(format!("/tmp/look.{name}"), render(&run, format)).unwrap();
        let gates: Vec<Gate> = vec!["throughput < -5%".parse().unwrap()];
        let c = compare(&run, &two, &gates);
        let j: Vec<_> = gates.iter().map(|g| (g.clone(), g.judge(&c))).collect();
        std::fs::write(format!("/tmp/cmp.{name}"), render_comparison(&c, &j, format)).unwrap();
    }
    for name in
        ["/tmp/runs/q1", "/tmp/runs/q2", "/tmp/runs/t1", "/tmp/runs/i1", "/tmp/runs/a1", "/tmp/runs/e1"]
    {
        let Ok(run) = pitot_lab::Run::open(format!("{name}.pitot").as_ref()) else { continue };
        std::fs::write(format!("{name}.html"), render(&run, Format::Html)).unwrap();
        std::fs::write(format!("{name}.txt"), render(&run, Format::Terminal)).unwrap();
    }
}
