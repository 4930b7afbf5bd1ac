//! Slowdowns that a commit or the configuration accepts on purpose.

use crate::source;
use crate::support::{Project, Run};
use serde_json::Value;
use std::fs;

const QUICK: [&str; 4] = ["--explain", "never", "--instructions", "never"];

fn diff(project: &Project, arguments: &[&str]) -> Run {
    project.perfunit(["diff"].iter().chain(arguments).chain(&QUICK))
}

fn commit(project: &Project, rounds: u32, message: &str) {
    project.write("src/lib.rs", source(rounds));
    project.commit(message);
}

fn test<'a>(document: &'a Value, name: &str) -> &'a Value {
    document["tests"].as_array().unwrap().iter().find(|test| test["name"] == name).unwrap()
}

#[test]
fn a_trailer_accepts_a_slowdown_up_to_its_size() {
    let project = Project::library(&source(2000), &source(2000)).with_natural_layout();
    let accept = "Make mixing exact\n\nPerfunit-Accept: tests::mixes <= 60% because it checks for overflow\n";
    commit(&project, 2600, accept);
    let text = diff(&project, &["HEAD~1"]).expect(0).stdout;
    let row = text.lines().find(|line| line.trim_start().starts_with("Accepted")).unwrap_or_else(|| panic!("{text}"));
    assert!(
        row.contains("sample tests::mixes") && row.contains("accepted up to 60 %: it checks for overflow ("),
        "{row}"
    );
    assert!(text.lines().last().is_some_and(|line| line.contains(" 1 accepted")), "{text}");
    let document = diff(&project, &["HEAD~1", "--message-format", "json"]).expect(0).json();
    let found = test(&document, "tests::mixes");
    assert_eq!((&found["verdict"], &found["accepted"]["coverage"]), (&"slower".into(), &"covered".into()));
    assert_eq!(
        (&found["accepted"]["by"][0]["commit"], &document["summary"]["accepted"]),
        (&document["head"]["commit"], &1.into())
    );

    // A larger slowdown of the same change is one, whatever was accepted before it grew.
    commit(&project, 6000, "Make it more exact");
    let text = diff(&project, &["HEAD~2"]).expect(100).stdout;
    assert!(text.contains("Slower") && text.contains("accepted only up to 60 %: it checks for overflow"), "{text}");
    // With the commit that accepted it, the acceptance is part of base.
    let text = diff(&project, &["HEAD~1"]).expect(100).stdout;
    assert!(!text.contains("accepted"), "{text}");
    // A function can be named, too: it is the only one whose machine code differs.
    commit(&project, 6001, "Explain\n\nPerfunit-Accept: slow <= 400% because exact results are worth it\n");
    let run = diff(&project, &["HEAD~3", "--message-format", "short"]).expect(0);
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert!(
        lines[0].starts_with("accepted +")
            && lines[0].contains("] sample tests::mixes  src/lib.rs:3 slow  accepted up to 400 %"),
        "{lines:?}"
    );
    assert!(lines[1].starts_with("summary verdict=accepted slower=0 accepted=1 "), "{lines:?}");
    // What both commits accept adds up against an older version.
    let against = ["HEAD~1", "--ratchet", "HEAD~3", "--message-format", "json"];
    let document = diff(&project, &against).expect(0).json();
    assert_eq!(document["ratchet"]["cumulative_losses"], Value::Array(Vec::new()));
    let found = test(&document["ratchet"]["comparison"], "tests::mixes");
    assert_eq!((&found["verdict"], found["accepted"]["by"].as_array().unwrap().len()), (&"slower".into(), 2));
}

#[test]
fn a_malformed_trailer_ends_the_run_before_anything_is_built() {
    let project = Project::library(&source(500), &source(500)).with_natural_layout();
    commit(&project, 1500, "Slow\n\nPerfunit-Accept: tests::mixes 60% because x\n");
    let head = project.head();
    let run = diff(&project, &["HEAD~1"]).expect(2);
    for words in
        [&head[..7], "no `<=`", "Perfunit-Accept: tests::mixes 60% because x", "hint: write `Perfunit-Accept: "]
    {
        assert!(run.stderr.contains(words), "no `{words}` in: {}", run.stderr);
    }
    assert!(!run.stderr.contains("Compiling"), "{}", run.stderr);
    // The commits of base are none of this change's.
    commit(&project, 1501, "More\n\nPerfunit-Accept: nosuch <= 60% because x\n");
    assert!(diff(&project, &["HEAD~1"]).stderr.lines().all(|line| !line.starts_with("error")));
}

#[test]
fn the_configuration_accepts_until_a_day() {
    let project = Project::library(&source(2000), &source(2000)).with_natural_layout();
    let entry = |until: &str| {
        let entry = format!(
            "[[accept]]\nname = \"tests::mixes\"\nat-most = \"60%\"\nbecause = \"it is exact\"\nuntil = \"{until}\"\n"
        );
        project.write(".config/perfunit.toml", entry);
    };
    entry("2999-12-31");
    commit(&project, 2600, "slow");
    let text = diff(&project, &["HEAD~1"]).expect(0).stdout;
    assert!(text.contains("accepted up to 60 %: it is exact (.config/perfunit.toml:2, until 2999-12-31)"), "{text}");
    let shown = project.perfunit(["show-config"]).expect(0).stdout;
    assert!(shown.contains("Accepted slowdowns") && shown.contains("up to 60 %: it is exact"), "{shown}");
    entry("2026-01-31");
    let run = diff(&project, &["HEAD~1", "--head", "HEAD"]).expect(100);
    assert!(run.stderr.contains("was accepted until 2026-01-31: remove the entry"), "{}", run.stderr);
    entry("tomorrow");
    let run = diff(&project, &["HEAD~1"]).expect(2);
    assert!(run.stderr.contains(".config/perfunit.toml:5: `tomorrow` is not a day"), "{}", run.stderr);
}

#[test]
fn github_is_told_of_accepted_slowdowns() {
    let project = Project::library(&source(2000), &source(2000)).with_natural_layout();
    commit(&project, 2600, "Slow\n\nPerfunit-Accept: * <= 60% because it is exact\n");
    let folder = tempfile::tempdir().unwrap();
    let mut command = project.command("");
    command.args(["diff", "HEAD~1"]).args(QUICK).env("GITHUB_ACTIONS", "true").env("RUNNER_TEMP", folder.path());
    command.env("GITHUB_OUTPUT", folder.path().join("output"));
    let run = Run::of(command).expect(0);
    assert!(run.stderr.contains("::notice title=1 test slower%2C accepted::sample tests::mixes"), "{}", run.stderr);
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(read("output").starts_with("verdict=accepted\nslower=0\naccepted=1\n"), "{}", read("output"));
    let comment = read("perfunit.md");
    assert!(comment.contains("### 1 test slower, accepted") && comment.contains("it is exact"), "{comment}");
}
