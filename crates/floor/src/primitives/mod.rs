//! The primitives, a file for each topic.

mod call;
mod connection;
mod file;
mod memory;
mod partner;
mod process;
mod ring;
mod socket;
mod switch;
mod thread;
mod timer;
mod wait;

use crate::{Primitive, Topic};

/// All topics, in the order of lists.
pub static TOPICS: &[&Topic] = &[
    &call::TOPIC,
    &switch::TOPIC,
    &process::TOPIC,
    &thread::TOPIC,
    &socket::TOPIC,
    &connection::TOPIC,
    &wait::TOPIC,
    &ring::TOPIC,
    &timer::TOPIC,
    &memory::TOPIC,
    &file::TOPIC,
];

/// All primitives, in the order of lists.
pub fn primitives() -> impl Iterator<Item = &'static Primitive> {
    TOPICS.iter().flat_map(|topic| topic.primitives)
}

/// The primitive of this name.
pub fn find(name: &str) -> Option<&'static Primitive> {
    primitives().find(|primitive| primitive.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Place, Stopwatch};

    #[test]
    fn names_are_unique_and_all_are_described() {
        let mut names: Vec<&str> = primitives().map(|primitive| primitive.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(primitives().all(|p| !p.summary.is_empty() && !p.summary.ends_with('.')));
    }

    #[test]
    fn every_primitive_does_what_it_is_asked_for_and_leaves_no_descriptor() {
        pitot_sys::limits::raise_descriptors().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let allowed = pitot_sys::affinity::allowed().unwrap();
        let place = Place { cpu: allowed[0], other_cpu: allowed.get(1).copied(), dir: dir.path().to_owned() };
        for primitive in primitives() {
            let mut work = match (primitive.make)(&place) {
                Ok(work) => work,
                // A test runner has several threads, and must not fork; other things a machine may lack.
                Err(reason) => {
                    assert!(!reason.cause.is_empty() && !reason.fix.is_empty(), "{reason}");
                    continue;
                }
            };
            let mut watch = Stopwatch::default();
            for count in [1, 3, 70] {
                let before = watch.operations;
                work(count, &mut watch).unwrap_or_else(|e| panic!("{}: {e}", primitive.name));
                assert!(watch.operations >= before + count, "{}", primitive.name);
            }
            let (wall, _) = watch.each().unwrap();
            assert!(wall > 0.0, "{}", primitive.name);
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_primitive_that_needs_another_cpu_says_so() {
        let place = Place { cpu: 0, other_cpu: None, dir: std::env::temp_dir() };
        let Err(reason) = (find("pipe-switch-other-cpu").unwrap().make)(&place) else {
            panic!("it was made")
        };
        assert_eq!(reason.to_string(), "another CPU is not available: this process may use one CPU only");
    }
}
