//! Where the CPU time of each cell goes, from its profiles: `pitot report --profile`.

use pitot_plan::Profiled;
use pitot_record::Run;
use serde_json::{Value, json};

use crate::analysis::Analysis;
use crate::document::{Block, Document, Flame};
use crate::explain::{each, missing};
use crate::flames::{TimeTree, profiles};
use crate::format::Format;
use crate::method::facts;
use crate::number::percent;
use crate::page::title;
use crate::reported::Reported;

/// A run of which at least one cell has a profile.
#[derive(Debug)]
pub struct Profiles(Run);

impl Profiles {
    /// None if the run has no profiles.
    pub fn of(run: Run) -> Option<Profiles> {
        let has_stacks = |kind| run.cells.iter().any(|cell| profiles(cell, kind).next().is_some());
        STACKED.into_iter().any(has_stacks).then_some(Profiles(run))
    }
}

/// The kinds of profiles that have stacks.
const STACKED: [Profiled; 2] = [Profiled::Cpu, Profiled::OffCpu];

fn trees(a: &Analysis<'_>) -> Vec<TimeTree> {
    STACKED.into_iter().flat_map(|kind| TimeTree::of_all(a, kind)).collect()
}

impl Reported for Profiles {
    fn page(&self, _: Format) -> Document {
        let a = Analysis::of(&self.0);
        let how = format!(
            "Time per {} of each function with all that it calls, from {} of the time on. A line without a branch before it is \
             called by the one above. Functions that spend all of their time in one that they call share its line, with … for more than \
             two. Differences may be chance: the section Why of the report tests them.",
            each(&a),
            percent(Flame::LINE_SHARE_MIN)
        );
        let mut blocks = vec![Block::Paragraph(how)];
        blocks.extend(missing(&a));
        blocks.extend(trees(&a).iter().map(|of| Block::section("", of.title(), vec![of.flames()])));
        let facts = facts(&a).into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Document { title: title(&a).to_owned(), facts, blocks, ..Document::default() }
    }

    /// `pitot-profile/1`.
    fn data(&self, format: Format) -> Option<String> {
        if format != Format::Json {
            return None;
        }
        let cells: Vec<Value> = trees(&Analysis::of(&self.0)).iter().map(TimeTree::json).collect();
        let object = json!({"schema": "pitot-profile/1", "run": self.0.info.id, "cells": cells});
        Some(format!("{object}\n"))
    }
}
