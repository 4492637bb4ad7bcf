//! `pitot host check`.

use std::process::ExitCode;

use clap::Args;
use clap::builder::ValueParser;
use pitot_host::check::{Judgement, TOPICS, Use, Verdict};
use pitot_host::{Facts, Machine, offer};
use pitot_meter::units;
use pitot_report::Tone;
use pitot_report::document::{Block, Document, Item};
use pitot_results::{Drawn, Failure};
use serde_json::{Value, json};

use crate::choice::{one_of, word};
use crate::formats::TextOrJson;
use crate::output::draw;
use crate::screen::Color;

/// Check whether this machine is set up for servers and load: what is set, what is wanted and why, and how to fix it.
///
/// Needs no privileges and changes nothing: `pitot host apply RULE` does. Exits with 1 if something is wrong for the chosen
/// uses; what is only to consider or cannot be seen does not count.
#[derive(Debug, Args)]
pub(super) struct Check {
    /// What the machine is for. [default: everything]
    #[arg(long = "for", value_name = "USE", value_parser = uses())]
    wanted: Option<Use>,
    /// Show every rule with its reason and its source, also those that are fine.
    #[arg(long)]
    all: bool,
    /// The output format.
    #[arg(long, default_value = "text")]
    format: TextOrJson,
    #[command(flatten)]
    color: Color,
}

fn uses() -> ValueParser {
    one_of([
        (word("http", "An HTTP server"), Use::Http),
        (word("cache", "A cache in memory"), Use::Cache),
        (word("mail", "A mail server or engine"), Use::Mail),
        (word("files", "Files on a disk"), Use::Files),
        (word("load", "A load generator"), Use::Load),
    ])
}

impl Check {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let machine = Machine::here();
        let judgements = offer::judgements(&machine, &Facts::collect(&machine), self.wanted);
        let is_wrong = judgements.iter().any(Judgement::is_wrong);
        draw(&match self.format {
            TextOrJson::Text => {
                Page { wanted: self.wanted, all: self.all }.document(&judgements).draw(self.color.screen())
            }
            TextOrJson::Json => {
                Drawn::default().text(format_args!("{:#}\n", to_json(&judgements, self.wanted)))
            }
        })?;
        Ok(if is_wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// The word of a use.
fn name(wanted: Option<Use>) -> &'static str {
    Use::ALL.iter().find(|(_, other)| Some(*other) == wanted).map_or("everything", |(word, _)| word)
}

/// What was found, topic by topic.
struct Page {
    wanted: Option<Use>,
    all: bool,
}

impl Page {
    fn document(&self, judgements: &[Judgement]) -> Document {
        let mut blocks = Vec::new();
        for (topic, rules) in TOPICS {
            let of_topic = judgements.iter().filter(|j| rules.iter().any(|r| r.name == j.rule.name));
            let (shown, others): (Vec<&Judgement>, Vec<&Judgement>) =
                of_topic.partition(|judgement| self.is_shown(&judgement.verdict));
            let alike = [("ok", "fine", Some(Tone::Good)), ("not here", "absent", None)];
            let alike = alike.into_iter().filter_map(|(label, word, tone)| {
                let names: Vec<&str> =
                    others.iter().filter(|j| j.verdict.word() == word).map(|j| j.rule.name).collect();
                (!names.is_empty()).then(|| (label.to_owned(), Item { tone, ..names.join(", ").into() }))
            });
            let pairs: Vec<(String, Item)> =
                shown.into_iter().map(|judgement| self.rule(judgement)).chain(alike).collect();
            if !pairs.is_empty() {
                blocks.push(Block::section("", *topic, vec![Block::Pairs(pairs)]));
            }
        }
        blocks.push(self.end(judgements));
        Document { blocks, ..Document::default() }
    }

    fn is_shown(&self, verdict: &Verdict) -> bool {
        self.all || !matches!(verdict, Verdict::Fine { .. } | Verdict::Absent { .. })
    }

    fn rule(&self, judgement: &Judgement) -> (String, Item) {
        let rule = judgement.rule;
        let (label, tone, says) = match &judgement.verdict {
            Verdict::Fine { found } => ("ok", Some(Tone::Good), format!("{found}; wanted: {}", rule.wanted)),
            Verdict::Wrong { found, wanted, .. } => {
                ("WRONG", Some(Tone::Bad), format!("{found}; wanted: {wanted}"))
            }
            Verdict::Consider { found, wanted, .. } => {
                ("consider", Some(Tone::Care), format!("{found}; could be: {wanted}"))
            }
            Verdict::Unknown { why } => ("unknown", None, format!("{why}; wanted: {}", rule.wanted)),
            Verdict::Absent { why } => ("not here", None, format!("{why}; wanted: {}", rule.wanted)),
        };
        let mut item = Item { tone, ..format!("{}: {says}", rule.name).into() };
        if self.all || !matches!(judgement.verdict, Verdict::Unknown { .. }) {
            item.more.push(format!("{}. {} ({})", rule.looks_at, rule.why, rule.sources()));
            item.more.push(match judgement.verdict.fix() {
                Some(fix) if fix.settings.is_empty() => format!("fix by hand: {}", fix.by_hand),
                Some(_) => format!("fix: pitot host apply {}", rule.name),
                None if rule.can_apply => "Pitot can set it".into(),
                None => "Pitot cannot set it".into(),
            });
        }
        (label.to_owned(), item)
    }

    fn end(&self, judgements: &[Judgement]) -> Block {
        let count = |word: &str| judgements.iter().filter(|j| j.verdict.word() == word).count();
        let counts = format!(
            "{} fine, {} wrong, {} to consider, {} unknown, {} not here",
            count("fine"),
            count("wrong"),
            count("consider"),
            count("unknown"),
            count("absent"),
        );
        let mendable: Vec<&str> = judgements
            .iter()
            .filter(|j| matches!(&j.verdict, Verdict::Wrong { fix, .. } if !fix.settings.is_empty()))
            .map(|j| j.rule.name)
            .collect();
        let apply = format!("to fix what Pitot can set: pitot host apply {}", mendable.join(" "));
        let apply = (!mendable.is_empty()).then_some(Block::Paragraph(apply));
        let blocks = std::iter::once(Block::Paragraph(counts)).chain(apply).collect();
        let rules = units::counted(judgements.len() as u64, "rule", "rules");
        Block::section("", format!("{rules} for {}", name(self.wanted)), blocks)
    }
}

fn to_json(judgements: &[Judgement], wanted: Option<Use>) -> Value {
    let rules: Vec<Value> = judgements.iter().map(rule_json).collect();
    json!({ "schema": "pitot-host-check/1", "for": name(wanted), "rules": rules })
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
    let fix = judgement.verdict.fix();
    let settings: Vec<Value> = fix
        .iter()
        .flat_map(|fix| &fix.settings)
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
        "can_apply": if fix.is_some() { !settings.is_empty() } else { rule.can_apply },
        "settings": settings,
        "fix": fix.map(|fix| &fix.by_hand),
    })
}
