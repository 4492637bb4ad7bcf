use serde::{Deserialize, Serialize};

use crate::facts::Facts;

/// One rule.
#[derive(Debug)]
pub struct Rule {
    /// What `pitot host apply` takes.
    pub name: &'static str,
    /// What it looks at, by its name in the kernel where it has one.
    pub looks_at: &'static str,
    /// What it matters for; empty if for everything.
    pub uses: &'static [Use],
    /// What is wanted of any machine; a verdict tells what that is for one.
    pub wanted: &'static str,
    /// What happens otherwise.
    pub why: &'static str,
    /// Where that is written.
    pub source: &'static str,
    /// How sure that is: what the parameter does.
    pub evidence: Evidence,
    /// Where the figure or the word that is wanted is from, which the source of the parameter need not name.
    pub threshold: Threshold,
    /// Whether `pitot host apply` can fix it, where there is something to set.
    pub can_apply: bool,
    /// What it says of a machine.
    pub(super) judge: fn(&Facts) -> Verdict,
}

impl Rule {
    /// What it says of a machine.
    pub fn judge(&self, facts: &Facts) -> Verdict {
        (self.judge)(facts)
    }
}

/// What a machine is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Use {
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

impl Use {
    /// All of them with their words.
    pub const ALL: [(&'static str, Use); 5] = [
        ("http", Use::Http),
        ("cache", Use::Cache),
        ("mail", Use::Mail),
        ("files", Use::Files),
        ("load", Use::Load),
    ];
}

/// How sure it is what a parameter does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// Measured with Pitot; the source says where.
    Measured,
    /// Written by those who made it.
    Documented,
}

impl Evidence {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Evidence::Measured => "measured here",
            Evidence::Documented => "documented",
        }
    }
}

/// Where the value that a rule wants is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// This source advises it.
    Documented(&'static str),
    /// It is the default of current kernels.
    Default,
    /// No source names it: those who made Pitot chose it by experience.
    Experience,
    /// It is often advised, without proof.
    Advised,
}

impl Threshold {
    /// The word for programs.
    pub const fn word(self) -> &'static str {
        match self {
            Threshold::Documented(_) => "documented",
            Threshold::Default => "default",
            Threshold::Experience => "experience",
            Threshold::Advised => "folklore",
        }
    }

    /// For people, with the source.
    pub const fn words(self) -> &'static str {
        match self {
            Threshold::Documented(source) => source,
            Threshold::Default => "the default of current kernels",
            Threshold::Experience => "our own experience",
            Threshold::Advised => "often advised, without proof",
        }
    }
}

impl Rule {
    /// The sources of the parameter and of the threshold, each by itself.
    pub fn sources(&self) -> String {
        let Rule { evidence, source, threshold, .. } = self;
        format!("parameter: {}, {source}; threshold: {}", evidence.words(), threshold.words())
    }
}

/// What a rule says of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is as it should be.
    Fine {
        /// What is set.
        found: String,
    },
    /// It stands in the way.
    Wrong {
        /// What is set.
        found: String,
        /// What is wanted.
        wanted: String,
        /// How to fix it.
        fix: Fix,
    },
    /// To be considered: it has a cost and a benefit.
    Consider {
        /// What is set.
        found: String,
        /// What could be.
        wanted: String,
        /// How to change it.
        fix: Fix,
    },
    /// It cannot be seen here.
    Unknown {
        /// Why not.
        why: String,
    },
    /// There is nothing here that it could be about.
    Absent {
        /// What there is not.
        why: String,
    },
}

/// How to fix something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fix {
    /// Settings that `pitot host apply` makes; empty if it cannot.
    pub settings: Vec<(String, String)>,
    /// A command or a sentence for a person.
    pub by_hand: String,
}

/// A rule and what it says.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The rule.
    pub rule: &'static Rule,
    /// What it says.
    pub verdict: Verdict,
}

impl Judgement {
    /// Whether it stands in the way.
    pub const fn is_wrong(&self) -> bool {
        matches!(self.verdict, Verdict::Wrong { .. })
    }
}

impl Verdict {
    /// The word of it.
    pub const fn word(&self) -> &'static str {
        match self {
            Verdict::Fine { .. } => "fine",
            Verdict::Wrong { .. } => "wrong",
            Verdict::Consider { .. } => "consider",
            Verdict::Unknown { .. } => "unknown",
            Verdict::Absent { .. } => "absent",
        }
    }

    /// What is wrong, as something to consider.
    #[must_use]
    pub(super) fn consider(self) -> Verdict {
        match self {
            Verdict::Wrong { found, wanted, fix } => Verdict::Consider { found, wanted, fix },
            other => other,
        }
    }

    pub(crate) fn fix_mut(&mut self) -> Option<&mut Fix> {
        match self {
            Verdict::Wrong { fix, .. } | Verdict::Consider { fix, .. } => Some(fix),
            _ => None,
        }
    }

    /// How to fix it.
    pub fn fix(&self) -> Option<&Fix> {
        match self {
            Verdict::Wrong { fix, .. } | Verdict::Consider { fix, .. } => Some(fix),
            _ => None,
        }
    }
}
