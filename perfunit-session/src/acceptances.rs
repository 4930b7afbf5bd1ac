//! The slowdowns that the commits of a change and the configuration accept.

use super::options::{Accepting, Options};
use perfunit_model::error::{Error, Result};
use perfunit_model::format::{one_line, short_commit};
use perfunit_model::{ACCEPT_TRAILER, Acceptance, AcceptanceUnused, AcceptedIn, Malformed, Run, Warning};
use perfunit_project::git::{Trailer, Trailers, Versions};

/// The acceptances of a comparison.
#[derive(Debug, Default, PartialEq)]
pub struct Acceptances {
    pub all: Vec<Acceptance>,
    pub warnings: Vec<Warning>,
    /// True if the clone does not have all commits.
    is_cut: bool,
}

impl Acceptances {
    /// Reads the acceptances of two versions. A trailer of the change that cannot be understood is an error.
    pub fn read(versions: &Versions, options: &Options) -> Result<Self> {
        let accepting = options.accepting;
        if accepting == Accepting::Nothing {
            return Ok(Self::default());
        }
        let (base, head) = (versions.sides.base.commit, versions.sides.head.commit);
        let trailers = versions.repository.trailers(ACCEPT_TRAILER, base, head)?;
        let mut acceptances = Self::of_trailers(&trailers, accepting)?;
        acceptances.all.extend(options.rules.acceptances.iter().cloned());
        Ok(acceptances)
    }

    fn of_trailers(trailers: &Trailers, accepting: Accepting) -> Result<Self> {
        let Trailers { found, misplaced, is_cut } = trailers;
        let mut acceptances = Self { is_cut: *is_cut, ..Self::default() };
        for Trailer { commit, step, value } in found {
            let step = if accepting == Accepting::History { *step } else { 0 };
            let parsed = Acceptance::parse(value, AcceptedIn::Commit { id: commit.clone(), step });
            match parsed {
                Ok(acceptance) => acceptances.all.push(acceptance),
                Err(why) if accepting == Accepting::History => {
                    let commit = short_commit(commit).to_owned();
                    let unused = AcceptanceUnused::NotUnderstood { commit, why: why.to_string() };
                    acceptances.warnings.push(Warning::Acceptance(unused));
                }
                Err(why) => return Err(not_understood(commit, value, &why)),
            }
        }
        if !misplaced.is_empty() {
            let commits = misplaced.iter().map(|commit| short_commit(commit).to_owned()).collect();
            acceptances.warnings.push(Warning::Acceptance(AcceptanceUnused::Misplaced { commits }));
        }
        Ok(acceptances)
    }

    /// Adds the warnings that matter only if a slowdown is not accepted.
    pub fn explain_rest(&self, run: &mut Run) {
        if run.slower().next().is_none() {
            return;
        }
        let mut unused: Vec<AcceptanceUnused> = self.is_cut.then_some(AcceptanceUnused::Cut).into_iter().collect();
        if !run.is_shard() {
            let of_nothing = |acceptance: &Acceptance| AcceptanceUnused::OfNothing {
                name: acceptance.name.clone(),
                place: acceptance.from.to_string(),
            };
            unused.extend(run.unused_acceptances().map(of_nothing));
        }
        run.warnings.extend(unused.into_iter().map(Warning::Acceptance));
    }
}

fn not_understood(commit: &str, value: &str, why: &Malformed) -> Error {
    let (commit, value) = (short_commit(commit), one_line(value));
    let correct = "correct it with `git commit --amend`, or `git rebase -i` for an older commit";
    Error::usage(format!(
        "commit {commit} has a trailer that cannot be understood: {why}\n    {ACCEPT_TRAILER}: {value}"
    ))
    .hint(format!("{}; {correct}", Acceptance::form()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::Verdict;
    use perfunit_model::samples::{measured, outcome, run};

    fn trailers(values: &[(usize, &str)]) -> Trailers {
        let trailer = |(step, value): &(usize, &str)| Trailer {
            commit: "3f2a91c0d4e5f60718293a4b5c6d7e8f90a1b2c3".to_owned(),
            step: *step,
            value: (*value).to_owned(),
        };
        Trailers { found: values.iter().map(trailer).collect(), ..Trailers::default() }
    }

    #[test]
    fn a_malformed_trailer_of_the_change_is_an_error_with_the_right_form_and_the_commit() {
        let wrong = trailers(&[(0, "a 5%\nbecause x")]);
        let error = Acceptances::of_trailers(&wrong, Accepting::Change).unwrap_err().to_string();
        for words in
            ["commit 3f2a91c ", "it has no `<=`", "Perfunit-Accept: a 5% because x", "tests::long_lines <= 5% because"]
        {
            assert!(error.contains(words), "no `{words}` in: {error}");
        }
        let read = Acceptances::of_trailers(&wrong, Accepting::History).unwrap();
        let text = read.warnings.iter().map(ToString::to_string).collect::<String>();
        assert!(read.all.is_empty() && text.contains("3f2a91c") && text.contains("it has no `<=`"), "{text}");
    }

    #[test]
    fn a_change_is_one_step_and_a_history_has_several() {
        let values = trailers(&[(1, "a <= 5% because x"), (0, "b <= 5% because y")]);
        let steps = |accepting| {
            let read = Acceptances::of_trailers(&values, accepting).unwrap();
            let step = |acceptance: &Acceptance| match acceptance.from {
                AcceptedIn::Commit { step, .. } => step,
                AcceptedIn::Configuration { .. } => unreachable!(),
            };
            read.all.iter().map(step).collect::<Vec<_>>()
        };
        assert_eq!((steps(Accepting::Change), steps(Accepting::History)), (vec![0, 0], vec![1, 0]));
    }

    #[test]
    fn what_explains_a_slowdown_that_is_not_accepted_is_said_only_then() {
        let said = |verdict, values: &[(usize, &str)]| {
            let trailers = Trailers { is_cut: true, ..trailers(values) };
            let read = Acceptances::of_trailers(&trailers, Accepting::Change).unwrap();
            let mut run = run(vec![outcome("tests::a", verdict, Some(measured(1e3, 0.04)))]);
            run.acceptances = read.all.clone();
            read.explain_rest(&mut run);
            run.warnings
        };
        assert_eq!(said(Verdict::Same, &[(0, "b <= 5% because x")]), []);
        assert_eq!(said(Verdict::Slower, &[(0, "a <= 5% because x")]), []);
        let nothing = AcceptanceUnused::OfNothing { name: "b".to_owned(), place: "3f2a91c".to_owned() };
        let cut = || Warning::Acceptance(AcceptanceUnused::Cut);
        assert_eq!(said(Verdict::Slower, &[(0, "b <= 5% because x")]), [cut(), Warning::Acceptance(nothing)]);
        assert_eq!(said(Verdict::Slower, &[(0, "a <= 3% because x")]), [cut()]);
    }
}
