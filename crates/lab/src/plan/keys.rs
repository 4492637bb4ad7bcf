//! The keys of a plan, as data: the reader checks against them, the JSON Schema and the docs are made of them.

/// One key of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) doc: &'static str,
}

/// What a key takes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Text,
    Texts,
    Count,
    Number,
    Duration,
    Share,
    Choice(&'static [&'static str]),
    Statistic,
    Metric,
    /// Options of a command and their settings.
    Settings,
    /// Levels of some factors.
    Levels,
    Factors,
    Files,
    Servers,
    Ready,
    Helper,
    /// A list of tables with these keys. `Levels` among them if true.
    Tables(&'static [Key], bool),
}

const fn key(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, kind, doc }
}

/// At the top of a plan.
pub(super) const PLAN: &[Key] = &[
    key("title", Kind::Text, "The headline of the report."),
    key("question", Kind::Text, "The question that the run is to answer; the report opens with it."),
    key("notes", Kind::Texts, "What a reader should know of the method."),
    key("metric", Kind::Metric, "The figure that answers the question (`pitot list metrics`)."),
    key(
        "repetitions",
        Kind::Count,
        "How often each cell is repeated, each time with a fresh server (default 8).",
    ),
    key("warmup", Kind::Duration, "Load before the measurement (default 500ms)."),
    key("duration", Kind::Duration, "Length of the measurement (default 3s)."),
    key(
        "order",
        Kind::Choice(&["interleaved", "sequential"]),
        "`interleaved`: blocks that hold every cell once, shuffled. `sequential`: cell by cell.",
    ),
    key("seed", Kind::Count, "Seed of the order; drawn anew and recorded if it is not given."),
    key("statistic", Kind::Statistic, "How repetitions become one figure: `median` or `trimmed-mean(N)`."),
    key(
        "tolerance",
        Kind::Share,
        "Differences up to this share do not count, however significant (default 2%).",
    ),
    key("baseline", Kind::Levels, "The cells that others are compared with, by levels of some factors."),
    key("charts", Kind::Texts, "The charts wanted, in order; all that fit if it is not given."),
    key("factors", Kind::Factors, "What is varied: `server`, `server.OPTION`, `load.OPTION`, `replicate`."),
    key("server", Kind::Settings, "`protocol` and options of `pitot serve` that all cells share."),
    key(
        "load",
        Kind::Settings,
        "`url`, `size` and options of `pitot load` that all cells share. `program` names what runs in its place: \
         `disk files`, `disk read` (then without a server) or `mail`, with options of its own.",
    ),
    key(
        "helpers",
        Kind::Helper,
        "Helpers of the load by name, each with `protocol` and options of `pitot serve`; {NAME} is the address.",
    ),
    key("servers", Kind::Servers, "Servers by the names that levels of the factor `server` use."),
    key("files", Kind::Files, "Files written to each server's private directory, {dir}."),
    key("exclude", Kind::Tables(EXCLUDE, true), "Combinations that are left out on purpose."),
    key(
        "published",
        Kind::Tables(PUBLISHED, false),
        "Figures published by others, shown with those of the run.",
    ),
    key("ready-timeout", Kind::Duration, "How long a server may take until it is ready (default 10s)."),
    key("stop-timeout", Kind::Duration, "How long a server may take to stop (default 10s)."),
    key(
        "server-cpus",
        Kind::Text,
        "CPUs of the servers, as `0-3,8`; one half of the cores if it is not given.",
    ),
    key("load-cpus", Kind::Text, "CPUs of the load generator; the other half if it is not given."),
];

/// In a table of `servers` that describes another program.
pub(super) const EXTERNAL: &[Key] = &[
    key("summary", Kind::Text, "One line for readers."),
    key("command", Kind::Texts, "The program and its arguments; it must stay in the foreground."),
    key(
        "ready",
        Kind::Ready,
        "`port`: its port accepts connections (default). { line = TEXT }: it prints that.",
    ),
    key("stop", Kind::Choice(&["TERM", "INT", "QUIT"]), "The signal that stops it (default TERM)."),
    key("url", Kind::Text, "What the load generator is to call; the plan's `load.url` if it is not given."),
    key("version", Kind::Texts, "A command whose output tells the program's version."),
    key("files", Kind::Files, "Files written to its private directory, {dir}."),
];

/// In a table of `exclude`, besides levels.
pub(super) const EXCLUDE: &[Key] = &[key("reason", Kind::Text, "Why it is left out.")];

/// In a table of `published`.
pub(super) const PUBLISHED: &[Key] = &[
    key("source", Kind::Text, "Who published it."),
    key("year", Kind::Count, "When."),
    key("title", Kind::Text, "What was measured, on which machine."),
    key("metric", Kind::Metric, "The figure's name; the plan's `metric` if it is not given."),
    key(
        "ratio-to",
        Kind::Levels,
        "The values are ratios to the cell with these levels, not figures themselves.",
    ),
    key(
        "values",
        Kind::Tables(PUBLISHED_VALUE, true),
        "The figures, each with the levels that it belongs to.",
    ),
];

/// In an element of `published.values`, besides levels.
pub(super) const PUBLISHED_VALUE: &[Key] = &[key(
    "value",
    Kind::Number,
    "The figure, in the metric's unit: seconds, bytes, a second, percent; or a ratio.",
)];

/// Keys of a plan that were renamed: the old name and the new one.
pub(super) const RENAMED: &[(&str, &str)] = &[("beside", "helpers")];

/// The names of a table's keys.
pub(super) fn names(keys: &'static [Key]) -> impl Iterator<Item = &'static str> {
    keys.iter().map(|k| k.name)
}
