//! The load generator against servers on threads of the test, which follow a script and know what they did.

mod connections;
mod server;
mod truth;

use pitot_load::{ENGINES, LoadPlan, Options, Report, Watch, run};

/// Observes nothing.
struct Unwatched;

impl Watch for Unwatched {}

/// Runs what the options say.
fn report(options: &Options) -> Report {
    run(&LoadPlan::new(options).unwrap().prepare().unwrap(), None, &mut Unwatched).unwrap()
}

/// Runs a test with every engine that this kernel has, all at the same time: these tests mostly wait.
fn with_each_engine(test: impl Fn(&str) + Sync) {
    std::thread::scope(|scope| {
        for engine in ENGINES.iter().filter(|engine| (engine.available)().is_ok()) {
            scope.spawn(|| test(engine.name));
        }
    });
}

/// One connection to a target, with an engine.
fn options(url: impl Into<String>, engine: &str) -> Options {
    let mut options = Options::new(url);
    options.engine = Some(engine.into());
    options.workload.connections = 1;
    options
}
