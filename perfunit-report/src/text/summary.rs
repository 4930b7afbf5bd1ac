//! The last lines of the terminal's report: how many tests have which verdict, and how long that took.

use crate::counts::{self, Unmeasured};
use crate::figures::{Words, status, word};
use crate::responsible;
use crate::screen::Screen;
use crate::sections::{Kind, Sections};
use crate::style::{BAD, DIM, GOOD, PLAIN, STRONG, Text, WARN};
use perfunit_model::format::{self, threshold};
use perfunit_model::{Conclusion, Measured, Run, Side, Stages, Verdict};

/// Writes the line of counts.
pub fn write(run: &Run, conclusion: Conclusion, screen: &mut Screen) {
    let text =
        if counts::nothing_because(run).is_some() { Text::plain("nothing to measure") } else { self::counts(run) };
    let failing = run.failing(Side::Head).count();
    let text = if failing > 0 {
        text.and(format!(", {failing} of them fail{} on head only", if failing == 1 { "s" } else { "" }))
    } else {
        text
    };
    let style = match conclusion {
        Conclusion::Passed if run.count(Verdict::Inconclusive) == 0 => GOOD,
        Conclusion::Passed | Conclusion::Interrupted => WARN,
        _ => BAD,
    };
    let responsible =
        responsible::responsible(&run.outcomes, screen.glyphs()).map(|names| format!("; responsible: {names}"));
    let text = text.and(responsible.unwrap_or_default());
    let text =
        stages(&run.stages).into_iter().fold(text, |text, stages| text.and("  ").with(DIM, format!("[{stages}]")));
    screen.status("Summary", style, &text);
}

/// Returns how many tests have which verdict.
pub fn counts(run: &Run) -> Text {
    let words = Words::of(&run.all_gates());
    let below = match words {
        Words::OfTime => format!("changed below {}", margins(run)),
        Words::OfAny => "changed below the threshold".to_owned(),
    };
    let (unmeasured, probable) = (Unmeasured::of(run), run.probably_slower().count());
    let texts = Verdict::ALL.map(|verdict| {
        let n = if verdict == Verdict::NotMeasured { unmeasured.not_measured } else { run.count(verdict) };
        // Calm where the status word is green for good news.
        let style = if verdict == Verdict::Same { STRONG } else { status(verdict, words).1 };
        let word = match verdict {
            Verdict::ChangedBelowThreshold => below.clone(),
            Verdict::Inconclusive if probable > 0 => format!("inconclusive ({probable} probably slower)"),
            _ => word(verdict, words),
        };
        Text::new(if n > 0 { style } else { PLAIN }, format!("{n} {word}"))
    });
    let others = unmeasured.others().map(|(n, words)| Text::plain(format!("{n} {words}")));
    texts.into_iter().chain(others).reduce(|all, text| all.and(", ").join(text)).unwrap_or_default()
}

/// Returns the margin of the changed tests: the run's, unless some of them have another one.
fn margins(run: &Run) -> String {
    let changed = run.outcomes.iter().filter(|outcome| outcome.verdict == Verdict::ChangedBelowThreshold);
    let mut own = changed.filter_map(|outcome| outcome.measured.as_ref()).map(Measured::margin);
    if own.all(|own| own.to_bits() == run.threshold.margin().to_bits()) {
        threshold(run.threshold.margin())
    } else {
        "their thresholds".to_owned()
    }
}

/// Returns the stages that took place, with their times.
pub fn stages(stages: &Stages) -> Option<String> {
    let Stages { prepare, build, select, measure, explain } = *stages;
    let named =
        [("prepare", prepare), ("build", build), ("select", select), ("measure", measure), ("explain", explain)];
    let taken = named.iter().filter(|(_, time)| !time.is_zero());
    let texts: Vec<String> = taken.map(|(name, time)| format!("{name} {}", format::seconds(*time))).collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

/// Writes the results of the further comparisons, below the line.
pub fn further(run: &Run, all: &Sections<'_>, screen: &mut Screen) {
    if let Some(ratchet) = all.get(Kind::Ratchet) {
        let style = match () {
            () if !run.cumulative_losses().is_empty() => BAD,
            () if ratchet.is_bad => WARN,
            () => GOOD,
        };
        screen.status("Ratchet", style, &Text::plain(&ratchet.headline));
    }
    if let Some(generated) = all.get(Kind::Generated) {
        let style = if generated.is_bad { BAD } else { GOOD };
        screen.status("Generated", style, &Text::plain(&generated.headline));
    }
}
