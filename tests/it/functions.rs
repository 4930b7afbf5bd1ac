//! Changed functions whose tests got slower in the mean, although no test did for certain.

use crate::support::Project;

/// Returns a library whose function `mix` repeats its step `steps` times, and eight tests that use it.
fn source(steps: u64) -> String {
    let test = |number: u64| {
        format!("    #[test]\n    fn case_{number}() {{\n        assert_ne!(super::mix({number}), 1);\n    }}\n\n")
    };
    let tests: String = (1..=8).map(test).collect();
    format!(
        r"
#[inline(never)]
pub fn mix(seed: u64) -> u64 {{
    (0..{steps}).fold(seed, |state, step| std::hint::black_box(state.rotate_left(5) ^ step).wrapping_mul(31))
}}

#[cfg(test)]
mod tests {{
{tests}}}
"
    )
}

#[test]
fn many_tests_show_together_what_none_shows_alone() {
    let project = Project::library(&source(5000), &source(6100));
    // A test alone may change by 30 %, the mean of the tests by half as much.
    let arguments = ["diff", "HEAD~1", "--threshold", "30%", "--explain", "never"];
    let run = project.perfunit(arguments).expect(0);
    let line = "Functions  1 changed function slower in the mean of several tests:";
    assert!(run.stdout.contains(line), "no `{line}` in\n{}", run.stdout);
    let document = project.perfunit(["report", "--format", "json"]).expect(0).json();
    assert_eq!(document["summary"]["verdicts"]["slower"], 0, "{}", document["summary"]);
    let found = &document["functions"][0];
    assert_eq!((&found["name"], &found["verdict"]), (&"mix".into(), &"slower".into()), "{found}");
    assert_eq!((&found["function"]["file"], &found["function"]["line"]), (&"src/lib.rs".into(), &3.into()), "{found}");
    assert_eq!((found["tests"].as_array().unwrap().len(), &found["entering"]), (8, &8.into()), "{found}");
    let change = |key: &str| found["change"][key].as_f64().unwrap();
    assert!(change("low") > 0.075 && change("low") < 0.22 && change("high") > 0.22, "{found}");

    let denied = project.perfunit(arguments.into_iter().chain(["--deny", "functions"])).expect(100);
    assert!(denied.stdout.contains(line), "{}", denied.stdout);
    project.write("perfunit.txt", "");
    project.commit("note\n\nPerfunit-Accept: mix <= 30% because of a wider seed");
    let accepted = ["diff", "HEAD~2", "--threshold", "30%", "--explain", "never", "--deny", "functions"];
    project.perfunit(accepted).expect(0);
}
