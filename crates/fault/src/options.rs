//! Options of faults: one set for all, of which each takes some.

/// An option of faults, as plans and the command line have it.
pub struct Given {
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub value: &'static str,
    /// What it means, one sentence or two.
    pub doc: &'static str,
    /// Its default, as a plan would spell it.
    pub default: &'static str,
    read: fn(&mut Options, &str) -> Result<(), String>,
}

/// Options other than what a fault is aimed at.
pub static OPTIONS: &[Given] = &[Given {
    name: "process",
    value: "worker|main|all",
    doc: "Which process of the server: `worker`, of those that have no children the one that has used the most CPU time; \
          `main`, the first; `all` of them.",
    default: "worker",
    read: |options, text| {
        let known = WHICH.iter().find(|(word, _)| *word == text);
        options.process = known.map(|(_, which)| *which).ok_or("write worker, main or all")?;
        Ok(())
    },
}];

const WHICH: [(&str, Which); 3] = [("worker", Which::Worker), ("main", Which::Main), ("all", Which::All)];

/// Which processes of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Which {
    /// Of those without children the busiest.
    #[default]
    Worker,
    /// The first.
    Main,
    /// Every one.
    All,
}

/// What a fault is made with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// The first process of the server.
    pub pid: u32,
    /// Which of its processes.
    pub process: Which,
}

impl Options {
    /// Reads options by name, those of `takes` alone.
    ///
    /// # Errors
    /// The name of the first that is wrong, and what is wrong about it.
    pub fn read<'a>(
        takes: &[&str],
        given: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Options, (String, String)> {
        let mut options = Options::default();
        let mut read = |name: &str, text: &str| {
            let entry = OPTIONS.iter().find(|option| option.name == name && takes.contains(&name));
            let outcome = entry.map_or_else(
                || {
                    Err(match takes {
                        [] => "this fault takes no such option".to_owned(),
                        takes => format!("this fault takes {}", takes.join(", ")),
                    })
                },
                |entry| (entry.read)(&mut options, text),
            );
            outcome.map_err(|why| (name.to_owned(), why))
        };
        for option in OPTIONS.iter().filter(|option| takes.contains(&option.name)) {
            read(option.name, option.default)?;
        }
        for (name, text) in given {
            read(name, text)?;
        }
        Ok(options)
    }
}
