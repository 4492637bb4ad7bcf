//! The reference pages: which lists each is made of.

/// A page of the reference.
pub(super) struct Page {
    pub(super) file: &'static str,
    pub(super) title: &'static str,
    pub(super) intro: &'static str,
    pub(super) parts: &'static [Part],
}

/// A table of a page, or one for each group of its rows.
pub(super) struct Part {
    pub(super) heading: &'static str,
    pub(super) intro: &'static str,
    /// What `pitot list` is asked for.
    pub(super) list: &'static str,
    /// The heading of each group of rows, with `{keys}` of the JSON.
    pub(super) group: Option<&'static str>,
    /// Heads of columns, and their cells, with `{keys}` of the JSON.
    pub(super) columns: &'static [(&'static str, &'static str)],
}

const NAMED: &[(&str, &str)] = &[("name", "`{name}`"), ("meaning", "{summary}")];

const fn table(
    heading: &'static str,
    list: &'static str,
    columns: &'static [(&'static str, &'static str)],
) -> Part {
    Part { heading, intro: "", list, group: None, columns }
}

pub(super) const PAGES: &[Page] = &[
    Page {
        file: "options.md",
        title: "Options",
        intro: "`pitot COMMAND --help` explains each option in full; `pitot list options` prints this page.",
        parts: &[Part {
            heading: "",
            intro: "",
            list: "options",
            group: Some("`pitot {command}`"),
            columns: &[("option", "`{option}`"), ("meaning", "{summary}"), ("default", "`{default}`")],
        }],
    },
    Page {
        file: "plan-keys.md",
        title: "Keys of a plan",
        intro: "[Plans](plans.md) explains how to write one. `pitot list plan-keys` prints these keys; \
                `pitot list plan-schema` prints the JSON Schema for your editor.",
        parts: &[Part {
            heading: "",
            intro: "",
            list: "plan-keys",
            group: Some("`{table}`"),
            columns: &[
                ("key", "`{name}`"),
                ("takes", "{takes}"),
                ("default", "`{default}`"),
                ("meaning", "{doc}"),
            ],
        }],
    },
    Page {
        file: "metrics.md",
        title: "Metrics",
        intro: "Plans (`metric`, `columns`), reports and gates (`--fail-if`) use these names. `pitot list metrics` prints them.",
        parts: &[table(
            "",
            "metrics",
            &[("metric", "`{name}`"), ("unit", "{unit}"), ("better", "{better}"), ("meaning", "{summary}")],
        )],
    },
    Page {
        file: "verdicts.md",
        title: "Verdicts and exit codes",
        intro: "Every measurement has a verdict on itself: whether you may trust its figures, and why not.",
        parts: &[
            table("Verdicts", "verdicts", &[("verdict", "`{name}`"), ("meaning", "{summary}")]),
            table("Exit codes", "exit-codes", &[("code", "{name}"), ("meaning", "{summary}")]),
        ],
    },
    Page {
        file: "host-rules.md",
        title: "Rules, settings and profiles of the host",
        intro: "`pitot host check` applies the rules, `pitot host apply` changes the settings. [The host](host.md) explains both. \
                `pitot list rules --format json` names the source of each rule and of its threshold.",
        parts: &[
            Part {
                heading: "Rules",
                intro: "",
                list: "rules",
                group: Some("{topic}"),
                columns: &[
                    ("rule", "`{name}`"),
                    ("looks at", "{summary}"),
                    ("wants", "{wanted}"),
                    ("why", "{doc}"),
                ],
            },
            table(
                "Settings",
                "settings",
                &[("kind", "{name}"), ("keys", "`{keys}`"), ("meaning", "{summary}"), ("needs", "{needs}")],
            ),
            Part {
                intro: "`pitot list profiles --format json` has the settings of each, with their reasons.",
                ..table("Profiles", "profiles", NAMED)
            },
        ],
    },
    Page {
        file: "target-list.md",
        title: "Targets",
        intro: "Servers of others that one word names. [Targets](targets.md) explains how to measure them, install them and add \
                your own; `pitot list targets` says which are installed here.",
        parts: &[table(
            "",
            "targets",
            &[
                ("target", "`{name}`"),
                ("protocol", "{protocol}"),
                ("server", "{summary}"),
                ("settings", "{settings}"),
            ],
        )],
    },
    Page {
        file: "names.md",
        title: "Names",
        intro: "What options and plans can name. `pitot list NAME` prints each table, and says what this machine supports.",
        parts: &[
            table("Suites", "suites", &[("suite", "`{name}`"), ("title", "{title}")]),
            table(
                "Models",
                "models",
                &[("model", "`{name}`"), ("who owns a connection", "{summary}"), ("workers", "{workers}")],
            ),
            table("Mechanisms", "mechanisms", NAMED),
            Part {
                intro: "`pitot serve --mechanism uring --ring NAME,NAME=VALUE`, or `none`. If nothing is said: `deferred,multishot,direct,bundles`.",
                ..table("Features of io_uring", "ring-features", NAMED)
            },
            table("Protocols of servers", "protocols", NAMED),
            table("Protocols of the load generator", "schemes", NAMED),
            table("Paces", "paces", NAMED),
            table("Workloads", "workloads", NAMED),
            table(
                "Disk engines",
                "engines",
                &[("engine", "`{name}`"), ("meaning", "{summary}"), ("needs", "{needs}")],
            ),
            table(
                "Faults",
                "faults",
                &[("fault", "`{name}`"), ("meaning", "{summary}"), ("options", "{options}")],
            ),
        ],
    },
];
