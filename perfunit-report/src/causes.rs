//! What changed besides the functions that are timed, in a line for each part of the difference that it may cause.

use perfunit_model::format::{self, Glyphs, some};
use perfunit_model::{Cause, Changed, CodeChange, Explanation};

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
    format::one_line(&words(&cause.changed).replace("->", glyphs.arrow()))
}

/// `serde 1.0.200 -> 1.0.219`, `Cargo.toml: profile.bench.lto`.
pub fn words(changed: &Changed) -> String {
    match changed {
        Changed::Dependency { package, base, head } => match (base.join(", "), head.join(", ")) {
            (base, head) if base.is_empty() => format!("{package} {head} (new)"),
            (base, head) if head.is_empty() => format!("{package} {base} (removed)"),
            (base, head) if base == head => format!("{package} {head} (from another source)"),
            (base, head) => format!("{package} {base} -> {head}"),
        },
        Changed::LocalDependency { package, changes } => {
            format!("{package}: {}", some(changes.iter().map(CodeChange::to_string)))
        }
        Changed::Configuration { path, keys } if keys.is_empty() => path.clone(),
        Changed::Configuration { path, keys } => format!("{path}: {}", some(keys.iter().cloned())),
        Changed::BuildScript { path } => format!("build script {path}"),
        Changed::Code(change) => change.to_string(),
        Changed::File { path } => path.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dependency(package: &str, share: f64) -> Cause {
        let versions = |version: &str| vec![version.to_owned()];
        let changed = Changed::Dependency { package: package.into(), base: versions("1.0"), head: versions("1.1") };
        Cause { changed, share }
    }

    #[test]
    fn versions_read_from_base_to_head() {
        let of = |base: &[&str], head: &[&str]| {
            let owned = |versions: &[&str]| versions.iter().map(ToString::to_string).collect();
            words(&Changed::Dependency { package: "serde".into(), base: owned(base), head: owned(head) })
        };
        assert_eq!(of(&["1.0.200"], &["1.0.219"]), "serde 1.0.200 -> 1.0.219");
        assert_eq!(of(&["1.0.1"], &["1.0.1"]), "serde 1.0.1 (from another source)");
        assert_eq!(of(&[], &["1.0.1"]), "serde 1.0.1 (new)");
        assert_eq!(of(&["0.9.0", "1.0.1"], &[]), "serde 0.9.0, 1.0.1 (removed)");
    }

    #[test]
    fn long_lists_are_cut() {
        let keys = ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec();
        let changed = Changed::Configuration { path: "Cargo.toml".into(), keys };
        assert_eq!(words(&changed), "Cargo.toml: a, b, c and 2 more");
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
