//! Direct comparisons over several commits, below the course of their test.

use super::commit::name;
use crate::style::{BAD, DIM, GOOD, PLAIN, Text, WARN};
use perfunit_model::format::{self, interval};
use perfunit_model::{Anchor, Course, Verdict, variant_name};

/// Those that say what the steps do not, and the last one.
pub fn shown(course: &Course) -> impl Iterator<Item = &Anchor> {
    let last = course.anchors.len().saturating_sub(1);
    let tells = |anchor: &Anchor| anchor.is_gradual() || anchor.is_contradiction();
    course.anchors.iter().enumerate().filter(move |(index, anchor)| *index == last || tells(anchor)).map(|(_, one)| one)
}

/// Those shown, as plain text.
pub fn words(course: &Course) -> impl Iterator<Item = String> {
    shown(course).map(|anchor| format::without_escapes(&text(anchor).to_string()))
}

/// For people.
pub fn text(anchor: &Anchor) -> Text {
    let (word, style) = match anchor.verdict {
        Verdict::Slower => (" slower", BAD),
        Verdict::Faster => (" faster", GOOD),
        Verdict::Inconclusive => (" inconclusive", WARN),
        Verdict::ChangedBelowThreshold | Verdict::Same | Verdict::NotMeasured => ("", PLAIN),
    };
    let change = format::percent(anchor.direct.estimate);
    let text = Text::new(style, format!("{change}{word}"))
        .with(DIM, format!(" {}", interval(anchor.direct)))
        .and(format!(" since {}, compared directly", name(&anchor.since)));
    let product = format!("{} {}", format::percent(anchor.product.estimate), interval(anchor.product));
    if anchor.is_contradiction() {
        return text.with(WARN, format!("; the steps give {product} and contradict it"));
    }
    if anchor.is_gradual() {
        let which = variant_name(anchor.verdict);
        let looked_at = if anchor.is_complete { "no single commit" } else { "none of the commits that were measured" };
        return text.and(format!("; {looked_at} made it {which}"));
    }
    if anchor.is_complete && anchor.differs() {
        return text.and(format!("; the steps give {product}, with other code of the test"));
    }
    if anchor.differs() {
        return text.and(format!("; the steps that were measured give {product}, and others lie between"));
    }
    text
}
