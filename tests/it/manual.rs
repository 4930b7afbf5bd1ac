//! `cargo perfunit completions` and `cargo perfunit man`.

use crate::support::{Project, Run};
use std::fs;
use std::process::Command;

/// Returns the completions that bash offers for typed words, the last of which is incomplete.
fn offered(project: &Project, typed: &[&str]) -> Vec<String> {
    let script = r#"
        source perfunit.bash
        COMP_WORDS=("$@")
        COMP_CWORD=$(($# - 1))
        read -ra specification <<< "$(complete -p "$1")"
        for ((i = 0; i < ${#specification[@]}; i++)); do
            [[ ${specification[i]} == -F ]] && function=${specification[i + 1]}
        done
        "$function" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", script, "bash"]).args(typed).current_dir(project.path());
    Run::of(bash).expect(0).stdout.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn bash_completes_both_spellings() {
    let project = Project::empty();
    project.write("perfunit.bash", &project.perfunit(["completions", "bash"]).expect(0).stdout);
    for typed in [["cargo-perfunit"].as_slice(), &["cargo", "perfunit"], &["cargo", "+nightly", "perfunit"]] {
        let after = |words: &[&str]| offered(&project, &[typed, words].concat());
        assert_eq!(after(&["do"]), ["doctor"], "{typed:?}");
        assert_eq!(after(&["diff", "--me"]), ["--metric", "--message-format"], "{typed:?}");
        assert_eq!(after(&["diff", "--color", ""]), ["auto", "always", "never"], "{typed:?}");
    }
}

#[test]
fn bash_completes_other_subcommands_of_cargo_as_before() {
    let project = Project::empty();
    let script = project.perfunit(["completions", "bash"]).expect(0).stdout;
    let before = "_before() { COMPREPLY=(before); }\ncomplete -F _before cargo\n";
    project.write("perfunit.bash", &(before.to_owned() + &script));
    assert_eq!(offered(&project, &["cargo", "bu"]), ["before"]);
    assert_eq!(offered(&project, &["cargo", "perfunit", "do"]), ["doctor"]);
}

#[test]
fn an_unknown_shell_is_named_with_those_that_are_known() {
    let run = Project::empty().perfunit(["completions", "csh"]).expect(2);
    assert!(run.stderr.contains("csh") && run.stderr.contains("fish"), "{}", run.stderr);
}

#[test]
fn each_subcommand_has_a_man_page() {
    let project = Project::empty();
    project.perfunit(["man", "share/man1"]).expect(0);
    let page = |name: &str| fs::read_to_string(project.path().join("share/man1").join(name)).unwrap();
    let diff = page("cargo-perfunit-diff.1");
    for part in [".SH \"EXIT STATUS\"", ".SH EXAMPLES", "cargo perfunit diff HEAD~1", "PERFUNIT_CACHE_DIR", "frozen"] {
        assert!(diff.contains(part), "no {part} in\n{diff}");
    }
    assert!(page("cargo-perfunit.1").contains("cargo\\-perfunit\\-explain(1)"), "{}", page("cargo-perfunit.1"));
}

#[test]
fn man_pages_that_cannot_be_written_are_named() {
    let project = Project::empty();
    project.write("taken", "a file");
    let run = project.perfunit(["man", "taken"]).expect(102);
    assert!(run.stderr.contains("taken"), "{}", run.stderr);
}
