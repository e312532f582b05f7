//! What the system reported back: failures by message, per variant, and how often.

use serde_json::{Value, json};

use super::layout::{Ink, Style};
use super::{units, words};
use crate::analysis::{Analysis, VariantSummary};
use crate::model::{Plan, Run};

/// Messages told per variant in a terminal; the rest are counted.
const TOLD: usize = 5;
/// Letters of a message in a terminal.
const LETTERS: usize = 120;

/// One message of one variant.
pub(super) struct Reported<'a> {
    pub(super) variant: usize,
    pub(super) message: &'a str,
    /// An item inside an operation that was otherwise done (a document of a bulk), or else a whole operation.
    pub(super) is_item: bool,
    pub(super) count: u64,
    /// Of those answered without error; for operations, of those and the failed ones.
    pub(super) share: Option<f64>,
}

impl Reported<'_> {
    /// `1,320 operations, 0.4 %`, `12 items, 1 per 99,400 rows`
    pub(super) fn how_many(&self, plan: &Plan) -> String {
        let what = if self.is_item { "item" } else { "operation" };
        let count = format!("{} {what}{}", units::count(self.count), if self.count == 1 { "" } else { "s" });
        let unit = plan.unit.as_deref().unwrap_or("operation");
        match self.share {
            Some(share) if share > 0.0 && share < 0.001 => {
                format!("{count}, 1 per {} {unit}s", units::figure(share.recip()))
            }
            Some(share) if self.is_item && share >= 1.0 => {
                format!("{count}, {} per {unit}", units::figure(share))
            }
            Some(share) if self.is_item => format!("{count}, {} of {unit}s", units::percent(share)),
            Some(share) => format!("{count}, {}", units::percent(share)),
            None => count,
        }
    }
}

/// Every message of every variant, commonest first within a variant.
pub(super) fn all(analysis: &Analysis) -> Vec<Reported<'_>> {
    analysis.variants.iter().flat_map(of).collect()
}

fn of(summary: &VariantSummary) -> Vec<Reported<'_>> {
    let failed: u64 = summary.errors.values().sum();
    let kinds = [(false, &summary.errors, failed), (true, &summary.item_errors, 0)];
    let mut found: Vec<Reported<'_>> = kinds
        .into_iter()
        .flat_map(|(is_item, messages, failed)| {
            messages.iter().map(move |(message, count)| Reported {
                variant: summary.variant,
                message,
                is_item,
                count: *count,
                share: share(*count, summary.answered, failed),
            })
        })
        .collect();
    found.sort_by(|a, b| b.count.cmp(&a.count).then(a.message.cmp(b.message)));
    found
}

#[expect(clippy::cast_precision_loss, reason = "operation counts are far below 2^52")]
fn share(count: u64, answered: f64, failed: u64) -> Option<f64> {
    let of = answered + failed as f64;
    (of > 0.0).then(|| count as f64 / of)
}

/// For a terminal: one paragraph per variant that had anything reported back.
pub(super) fn paragraphs(run: &Run, analysis: &Analysis, style: &Style) -> String {
    let plan = &run.header.plan;
    let all = all(analysis);
    let mut text = String::new();
    for (place, group) in all.chunk_by(|a, b| a.variant == b.variant).enumerate() {
        let told: Vec<String> = group.iter().take(TOLD).map(|one| told(plan, one)).collect();
        let more = group.len().saturating_sub(TOLD);
        let rest = if more > 0 { format!("; and {more} more messages") } else { String::new() };
        let sentence = format!("{}: {}{rest}.", words::quoted(plan, group[0].variant), told.join("; "));
        text.push_str(&style.paragraph(if place == 0 { "errors" } else { "" }, Ink::Bad, &sentence));
    }
    text
}

fn told(plan: &Plan, one: &Reported<'_>) -> String {
    let message = one.message.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{} ({})", super::layout::cut(&message, LETTERS), one.how_many(plan))
}

/// For programs, of one variant.
pub(super) fn json(summary: &VariantSummary) -> Vec<Value> {
    of(summary)
        .iter()
        .map(|one| {
            let kind = if one.is_item { "item" } else { "operation" };
            json!({ "message": one.message, "of": kind, "count": one.count, "share": one.share })
        })
        .collect()
}
