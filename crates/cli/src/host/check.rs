//! `pitot host check`.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use pitot_host::check::{Judgement, TOPICS, Use, Verdict};
use pitot_host::{Facts, Machine, offer};
use pitot_meter::units;
use pitot_report::Screen;
use pitot_results::{Drawn, Failure};
use serde_json::{Value, json};

use crate::list::Format;
use crate::output::draw;
use crate::screen::{Color, wrapped};

/// Look whether this machine is set up for servers and load: what is set, what is wanted and why, and how to mend it.
///
/// Needs no rights. Nothing is changed: `pitot host apply RULE` does that. Exits with 1 if something is wrong for what was
/// asked for. What is worth a thought, and what cannot be seen, is shown and does not count.
#[derive(Debug, Args)]
pub(super) struct Check {
    /// What the machine is for; everything, if it is left out.
    #[arg(long = "for", value_name = "USE")]
    wanted: Option<For>,
    /// Show every rule with its reason and its source, also those that are fine.
    #[arg(long)]
    all: bool,
    /// The output format.
    #[arg(long, default_value = "text")]
    format: Format,
    #[command(flatten)]
    color: Color,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum For {
    /// An HTTP server.
    Http,
    /// A cache in memory.
    Cache,
    /// A mail server or engine.
    Mail,
    /// Files on a disk.
    Files,
    /// A load generator.
    Load,
}

impl For {
    fn wanted(self) -> Use {
        match self {
            For::Http => Use::Http,
            For::Cache => Use::Cache,
            For::Mail => Use::Mail,
            For::Files => Use::Files,
            For::Load => Use::Load,
        }
    }
}

impl Check {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let wanted = self.wanted.map(For::wanted);
        let machine = Machine::here();
        let judgements = offer::judgements(&machine, &Facts::collect(&machine), wanted);
        let is_wrong = judgements.iter().any(Judgement::is_wrong);
        draw(&match self.format {
            Format::Text => {
                let Screen { width, is_coloured: color } = self.color.screen();
                Page { wanted, all: self.all, color, width }.text(&judgements)
            }
            Format::Json => Drawn::default().text(format_args!("{:#}\n", to_json(&judgements, wanted))),
        })?;
        Ok(if is_wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// The word of a use.
fn word(wanted: Option<Use>) -> &'static str {
    Use::ALL.iter().find(|(_, other)| Some(*other) == wanted).map_or("everything", |(word, _)| word)
}

/// How the text is shown.
struct Page {
    wanted: Option<Use>,
    all: bool,
    color: bool,
    /// Columns of the text.
    width: usize,
}

/// Columns before what a rule says.
const INDENT: usize = 11;

impl Page {
    fn text(&self, judgements: &[Judgement]) -> Drawn {
        let mut text = Drawn::default();
        for (topic, rules) in TOPICS {
            let of_topic: Vec<_> =
                judgements.iter().filter(|j| rules.iter().any(|r| r.name == j.rule.name)).collect();
            if of_topic.is_empty() {
                continue;
            }
            text = text.then(&self.paint("1", topic)).text("\n");
            for judgement in of_topic.iter().filter(|j| self.is_shown(&j.verdict)) {
                text = text.then(&self.rule(judgement));
            }
            for (label, word) in [("ok", "fine"), ("not here", "absent")] {
                let alike =
                    of_topic.iter().filter(|j| j.verdict.word() == word && !self.is_shown(&j.verdict));
                let names: Vec<&str> = alike.map(|j| j.rule.name).collect();
                if !names.is_empty() {
                    let color = if word == "fine" { "32" } else { "2" };
                    text = text.then(&self.labelled(label, color, &names.join(", ")));
                }
            }
        }
        text.text(self.end(judgements))
    }

    fn is_shown(&self, verdict: &Verdict) -> bool {
        self.all || !matches!(verdict, Verdict::Fine { .. } | Verdict::Absent { .. })
    }

    fn rule(&self, judgement: &Judgement) -> Drawn {
        let rule = judgement.rule;
        let (label, color, says) = match &judgement.verdict {
            Verdict::Fine { found } => ("ok", "32", format!("{found}; wanted: {}", rule.wanted)),
            Verdict::Wrong { found, wanted, .. } => ("WRONG", "1;31", format!("{found}; wanted: {wanted}")),
            Verdict::Consider { found, wanted, .. } => {
                ("consider", "33", format!("{found}; could be: {wanted}"))
            }
            Verdict::Unknown { why } => ("unknown", "2", format!("{why}; wanted: {}", rule.wanted)),
            Verdict::Absent { why } => ("not here", "2", format!("{why}; wanted: {}", rule.wanted)),
        };
        let text = self.labelled(label, color, &format!("{}: {says}", rule.name));
        if matches!(judgement.verdict, Verdict::Unknown { .. }) && !self.all {
            return text;
        }
        let why = format!("{}. {} ({})", rule.looks_at, rule.why, rule.sources());
        text.text(self.wrapped(&why)).text(self.wrapped(&match judgement.verdict.mend() {
            Some(mend) if mend.settings.is_empty() => format!("mend by hand: {}", mend.by_hand),
            Some(_) => format!("mend: pitot host apply {}", rule.name),
            None if rule.can_apply => "Pitot can set it".into(),
            None => "Pitot cannot set it".into(),
        }))
    }

    fn labelled(&self, label: &str, color: &str, says: &str) -> Drawn {
        let lines = self.wrapped(says);
        // The label has the place of the first line's indent.
        let label = self.paint(color, &format!("{label:<width$}", width = INDENT - 2));
        Drawn::new("  ").then(&label).text(&lines[INDENT..])
    }

    fn end(&self, judgements: &[Judgement]) -> String {
        let count = |word: &str| judgements.iter().filter(|j| j.verdict.word() == word).count();
        let rules = units::counted(judgements.len() as u64, "rule", "rules");
        let mut text = format!(
            "\n{rules} for {}: {} fine, {} wrong, {} to consider, {} unknown, {} not here\n",
            word(self.wanted),
            count("fine"),
            count("wrong"),
            count("consider"),
            count("unknown"),
            count("absent"),
        );
        let mendable: Vec<&str> = judgements
            .iter()
            .filter(|j| matches!(&j.verdict, Verdict::Wrong { mend, .. } if !mend.settings.is_empty()))
            .map(|j| j.rule.name)
            .collect();
        if !mendable.is_empty() {
            text += &format!("what is wrong and Pitot can mend: pitot host apply {}\n", mendable.join(" "));
        }
        text
    }

    /// Lines of some words, indented.
    fn wrapped(&self, text: &str) -> String {
        let indent = " ".repeat(INDENT);
        wrapped(&indent, &indent, text.split(' '), self.width)
    }

    fn paint(&self, color: &str, text: &str) -> Drawn {
        match self.color {
            true => Drawn::new(format_args!("\x1b[{color}m")).text(text).code("\x1b[0m"),
            false => Drawn::default().text(text),
        }
    }
}

fn to_json(judgements: &[Judgement], wanted: Option<Use>) -> Value {
    let rules: Vec<Value> = judgements.iter().map(rule_json).collect();
    json!({ "schema": "pitot-host-check/1", "for": word(wanted), "rules": rules })
}

fn rule_json(judgement: &Judgement) -> Value {
    let rule = judgement.rule;
    let (found, wanted, reason) = match &judgement.verdict {
        Verdict::Fine { found } => (Some(found), rule.wanted, None),
        Verdict::Wrong { found, wanted, .. } | Verdict::Consider { found, wanted, .. } => {
            (Some(found), wanted.as_str(), None)
        }
        Verdict::Unknown { why } | Verdict::Absent { why } => (None, rule.wanted, Some(why)),
    };
    let topic =
        TOPICS.iter().find(|(_, rules)| rules.iter().any(|r| r.name == rule.name)).map(|(topic, _)| topic);
    let mend = judgement.verdict.mend();
    let settings: Vec<Value> = mend
        .iter()
        .flat_map(|mend| &mend.settings)
        .map(|(key, value)| json!({ "key": key, "value": value }))
        .collect();
    json!({
        "rule": rule.name,
        "topic": topic,
        "looks_at": rule.looks_at,
        "for": if rule.uses.is_empty() { Use::ALL.map(|(_, wanted)| wanted).to_vec() } else { rule.uses.to_vec() },
        "verdict": judgement.verdict.word(),
        "found": found,
        "wanted": wanted,
        "reason": reason,
        "why": rule.why,
        "source": rule.source,
        "evidence": rule.evidence,
        "threshold": rule.threshold.word(),
        "threshold_source": rule.threshold.words(),
        "can_apply": if mend.is_some() { !settings.is_empty() } else { rule.can_apply },
        "settings": settings,
        "mend": mend.map(|mend| &mend.by_hand),
    })
}
