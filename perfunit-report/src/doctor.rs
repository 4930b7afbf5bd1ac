//! `cargo perfunit doctor`: one line for each finding. Warnings add why the finding matters and how to fix it.

use super::terminal::{BAD, DIM, GOOD, INDENT, STRONG, Screen, Text, WARN};
use super::text::TextOptions;
use super::wire::{SCHEMA_VERSION, pretty};
use anstyle::Style;
use perfunit_model::checkup::{Checkup, Finding, Level};
use perfunit_model::format::count;
use schemars::JsonSchema;
use serde::Serialize;

/// Returns the findings with ANSI colors, one trailing newline.
pub fn text(checkup: &Checkup, options: &TextOptions) -> String {
    let mut screen = Screen::new(options.width, options.glyphs);
    screen.status("Examined", GOOD, &Text::plain(&checkup.cpu));
    screen.bar();
    for finding in &checkup.findings {
        write(finding, &mut screen);
    }
    screen.bar();
    screen.status("Summary", style(worst(checkup)), &summary(checkup));
    screen.finish()
}

fn write(finding: &Finding, screen: &mut Screen) {
    let name = finding.what.replace('-', " ");
    screen.status(word(finding.level), style(finding.level), &Text::new(STRONG, name).and(": ").and(&finding.value));
    if finding.level != Level::Ok {
        screen.below(INDENT + 2, &Text::new(DIM, finding.why));
    }
    if let Some(advice) = finding.advice {
        screen.below(INDENT + 2, &Text::plain(format!("fix: {advice}")));
    }
}

fn word(level: Level) -> &'static str {
    match level {
        Level::Ok => "Ok",
        Level::Warn => "Warn",
        Level::Bad => "Bad",
    }
}

fn style(level: Level) -> Style {
    match level {
        Level::Ok => GOOD,
        Level::Warn => WARN,
        Level::Bad => BAD,
    }
}

fn worst(checkup: &Checkup) -> Level {
    checkup.findings.iter().map(|finding| finding.level).max().unwrap_or(Level::Ok)
}

fn summary(checkup: &Checkup) -> Text {
    let findings = count(checkup.findings.len(), "finding");
    let (warn, bad) = (checkup.count(Level::Warn), checkup.count(Level::Bad));
    let meaning = match worst(checkup) {
        Level::Ok => "ready to measure",
        Level::Warn => "verdicts are reliable, but may take longer or be less precise",
        Level::Bad => "fix bad findings first",
    };
    Text::plain(format!("{findings}, {warn} to look at, {bad} bad: {meaning}"))
}

/// Returns the findings and the measured figures as pretty JSON with a trailing newline.
pub fn json(checkup: &Checkup) -> String {
    pretty(&DoctorDocument { schema_version: SCHEMA_VERSION, checkup })
}

/// The JSON document of `doctor`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DoctorDocument<'a> {
    schema_version: u32,
    #[serde(flatten)]
    checkup: &'a Checkup,
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::Verdict;
    use perfunit_model::checkup::{AgainstItself, CoreNoise, Noise};
    use perfunit_model::format::without_escapes;
    use serde_json::{Value, json};

    fn checkup() -> Checkup {
        let finding = |what, value: &str, level, advice| Finding {
            what,
            value: value.to_owned(),
            level,
            why: "it matters",
            advice,
        };
        let cores = vec![CoreNoise { core: 1, gaps_per_second: 600.0, lost: 0.02, longest_ns: 4e5 }];
        let itself = AgainstItself {
            core: 1,
            verdict: Verdict::Same,
            pairs: 8,
            detectable: f64::INFINITY,
            ns: 1e4,
            seconds: 0.1,
        };
        Checkup {
            cpu: "a processor".to_owned(),
            findings: vec![
                finding("pinning", "possible", Level::Ok, None),
                finding("address-space", "random", Level::Warn, Some("allow it")),
            ],
            noise: Noise { cores, work_spread: Some(0.004), against_itself: Some(Ok(itself)) },
        }
    }

    #[test]
    fn only_what_needs_it_is_explained() {
        let expected = "    Examined  a processor
------------
          Ok  pinning: possible
        Warn  address space: random
                it matters
                fix: allow it
------------
     Summary  2 findings, 1 to look at, 0 bad: verdicts are reliable, but may take longer or be less precise
";
        let options = TextOptions::default();
        assert_eq!(without_escapes(&text(&checkup(), &options)), expected);
    }

    #[test]
    fn the_document_has_every_promised_field() {
        let document: Value = serde_json::from_str(&json(&checkup())).unwrap();
        let expected = json!({
            "schema_version": 4,
            "cpu": "a processor",
            "findings": [
                {"what": "pinning", "value": "possible", "level": "ok", "why": "it matters", "advice": null},
                {"what": "address-space", "value": "random", "level": "warn", "why": "it matters", "advice": "allow it"},
            ],
            "noise": {
                "cores": [{"core": 1, "gaps_per_second": 600.0, "lost": 0.02, "longest_ns": 400_000.0}],
                "work_spread": 0.004,
                "against_itself":
                    {"core": 1, "verdict": "same", "pairs": 8, "detectable": null, "ns": 10_000.0, "seconds": 0.1},
            },
        });
        assert_eq!(document, expected);
    }
}
