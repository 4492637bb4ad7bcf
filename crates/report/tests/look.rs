mod support;
#[test]
fn look() {
    let d = tempfile::tempdir().unwrap();
    let f = support::Fixture { servers: &["fork+blocking","prefork+blocking","thread+blocking","pool+blocking","loop+poll","loop+epoll-lt","loop+epoll-et","loop+uring"], levels: &[1,10,100,1000,5000], repetitions: 8, slowdown: 1.0, seed: 3 };
    let run = f.run(&d.path().join("a.pitot"));
    for (format, name) in [(pitot_report::Format::Terminal,"txt"),(pitot_report::Format::Html,"html"),(pitot_report::Format::Markdown,"md")] {
        std::fs::write(format!("/tmp/look.{name}"), pitot_report::render(&run, format)).unwrap();
    }
}
