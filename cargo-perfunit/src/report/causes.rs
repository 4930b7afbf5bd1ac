//! What changed besides the functions that are timed, in a line for each part of the difference that it may cause.

use super::format::{self, Glyphs};
use crate::model::{Cause, Explanation};

/// Causes named in a line.
const NAMED: usize = 4;

/// The lines, the largest part first.
pub fn lines(explanation: &Explanation, glyphs: Glyphs) -> Vec<String> {
    let groups = explanation.causes.chunk_by(|a, b| percent(a) == percent(b));
    groups.map(|causes| line(causes, explanation.code_changed, glyphs)).collect()
}

/// Causes that reach the same functions share a line: the figures cannot separate them.
fn line(causes: &[Cause], code_changed: Option<bool>, glyphs: Glyphs) -> String {
    let named = causes.iter().take(NAMED).map(|cause| name(cause, glyphs));
    let mut named = named.collect::<Vec<_>>().join("; ");
    if causes.len() > NAMED {
        named = format!("{named}; and {} more", causes.len() - NAMED);
    }
    let share = percent(&causes[0]);
    let they = if causes.len() == 1 { "it" } else { "they" };
    let text = match code_changed {
        Some(false) => {
            format!(
                "no code of the workspace changed, but this did: {named}. {share} % of the difference is in code that {they} can reach"
            )
        }
        _ => format!(
            "{share} % of the difference is in functions with unchanged source; other changes that can reach them: {named}"
        ),
    };
    format::one_line(&text)
}

fn percent(cause: &Cause) -> String {
    format!("{:.0}", 100.0 * cause.share)
}

/// What changed, with the arrow that the terminal can show.
pub fn name(cause: &Cause, glyphs: Glyphs) -> String {
    format::one_line(&cause.changed.to_string().replace("->", glyphs.arrow()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Changed;

    fn dependency(package: &str, share: f64) -> Cause {
        let versions = |version: &str| vec![version.to_owned()];
        let changed = Changed::Dependency { package: package.into(), base: versions("1.0"), head: versions("1.1") };
        Cause { changed, share }
    }

    fn told(causes: &[Cause], code_changed: Option<bool>) -> String {
        line(causes, code_changed, Glyphs::Ascii)
    }

    #[test]
    fn a_single_cause_is_told_plainly() {
        let expected = "no code of the workspace changed, but this did: serde 1.0 -> 1.1. 94 % of the difference \
                        is in code that it can reach";
        assert_eq!(told(&[dependency("serde", 0.94)], Some(false)), expected);
    }

    #[test]
    fn beside_changed_code_nothing_is_claimed() {
        let expected = "94 % of the difference is in functions with unchanged source; other changes that \
                        can reach them: serde 1.0 -> 1.1; memchr 1.0 -> 1.1";
        let causes = [dependency("serde", 0.94), dependency("memchr", 0.94)];
        assert_eq!(told(&causes, Some(true)), expected);
        assert_eq!(told(&causes, None), expected);
    }

    #[test]
    fn many_are_cut() {
        let causes: Vec<Cause> = ["a", "b", "c", "d", "e", "f"].map(|name| dependency(name, 1.0)).into();
        assert!(told(&causes, Some(true)).ends_with("d 1.0 -> 1.1; and 2 more"));
    }
}
