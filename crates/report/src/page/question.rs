//! The questions of a run, and its charts for all of them.

use crate::analysis::{Analysis, SubRun};
use crate::chart::Chart;
use crate::scene::{Figure, Pane};

/// A question of a run: one, or one for each of its [parts](crate::parts).
pub(crate) struct Question<'a> {
    /// The load of the part; empty if there is only one.
    pub(crate) asked: &'a str,
    pub(crate) analysis: &'a Analysis<'a>,
}

impl<'a> Question<'a> {
    /// The questions of a run with these parts.
    pub(crate) fn of(
        whole: &'a Analysis<'a>,
        parts: &'a [SubRun],
        analyses: &'a [Analysis<'a>],
    ) -> Vec<Question<'a>> {
        if parts.is_empty() {
            return vec![Question { asked: "", analysis: whole }];
        }
        parts.iter().zip(analyses).map(|(part, analysis)| Question { asked: &part.title, analysis }).collect()
    }
}

/// A chart of the run. If the run has several parts, the reader chooses the part and the chart's own choice in one.
pub(super) fn drawn(chart: &Chart, questions: &[Question<'_>]) -> Option<Figure> {
    if let [only] = questions {
        return (chart.draw)(only.analysis);
    }
    let mut whole: Option<Figure> = None;
    for question in questions {
        let Some(figure) = (chart.draw)(question.analysis) else { continue };
        let named = |pane: Pane| {
            let and = if pane.label.is_empty() { "" } else { " · " };
            Pane { label: format!("{}{and}{}", question.asked, pane.label), ..pane }
        };
        let panes = figure.panes.into_iter().map(named);
        match &mut whole {
            None => {
                whole = Some(Figure {
                    choice: Some("asked".to_owned()),
                    panes: panes.collect(),
                    caption: figure.caption,
                });
            }
            Some(whole) => whole.panes.extend(panes),
        }
    }
    whole
}
