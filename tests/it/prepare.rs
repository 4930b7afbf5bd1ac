//! Steps that prepare a version: `[[prepare]]`, and setup scripts of nextest.

use crate::filters::selected;
use crate::support::{Project, Run};
use std::collections::BTreeSet;
use std::fs;

const CONFIG: &str = ".config/perfunit.toml";
const QUICK: [&str; 6] = ["--head", "HEAD", "--explain", "never", "--instructions", "never"];

/// Returns a library whose module `made` is not in git.
fn source(rounds: u32) -> String {
    format!(
        "mod made;\n#[inline(never)]\npub fn mix(mut x: u64) -> u64 {{\n    for _ in 0..{rounds} {{ x = x.rotate_left(7) ^ made::N; }}\n    x\n}}\n\
         #[test]\nfn mixes() {{ assert_ne!(mix(3), 1); }}\n"
    )
}

/// Returns a project that needs a step, with the step and a file that counts its runs.
fn project() -> (Project, impl Fn() -> usize) {
    let project = Project::library(&source(2000), &source(2000));
    let count = project.path().join("target/count");
    fs::create_dir_all(count.parent().unwrap()).unwrap();
    let script = format!(
        "echo \"pub const N: u64 = $(cat n.txt);\" > src/made.rs; echo N >> {}; test -z \"$(git rev-parse HEAD 2>/dev/null)\"",
        count.display()
    );
    project.write(".gitignore", "/target\n/src/made.rs\n");
    project.write("n.txt", "12345");
    project.write(CONFIG, format!("[[prepare]]\ncommand = ['sh', '-c', '{script}']\nfiles = ['n.txt']\n"));
    project.commit("a step");
    (project, move || fs::read_to_string(&count).unwrap_or_default().lines().count())
}

fn list(project: &Project, base: &str) -> Run {
    project.perfunit(["list", base, "--head", "HEAD", "--message-format", "json"])
}

#[test]
fn a_step_makes_what_the_build_needs_once_for_equal_files() {
    let (project, runs) = project();
    project.write("src/lib.rs", source(2001));
    project.commit("another number");
    let mixes = BTreeSet::from(["mixes".to_owned()]);
    assert_eq!((selected(list(&project, "HEAD~1")), runs()), (mixes.clone(), 1));
    project.write("README.md", "Words.\n");
    project.commit("words");
    assert_eq!((selected(list(&project, "HEAD~1")).len(), runs()), (0, 1));
    // What the step made is part of the version: it differs now, and nothing else does.
    project.write("n.txt", "54321");
    project.commit("another input");
    let run = list(&project, "HEAD~1");
    assert!(run.stdout.contains("src/made.rs"), "{}", run.stdout);
    assert_eq!((selected(run), runs()), (mixes, 2));
    assert!(!project.path().join("src/made.rs").exists() && project.status().is_empty(), "{:?}", project.status());
    let shown = project.perfunit(["show-config"]).expect(0).stdout;
    assert!(shown.contains("Preparing steps") && shown.contains("before builds, again if n.txt change"), "{shown}");
}

#[test]
fn a_step_does_not_run_for_documentation() {
    let project = Project::library("//! Words.\n", "//! Words.\n");
    project.write(CONFIG, "[[prepare]]\ncommand = \"false\"\n");
    project.commit("a step that fails");
    project.write("README.md", "Words.\n");
    project.commit("words");
    let run = project.perfunit(["diff", "HEAD~1", "--head", "HEAD"]).expect(0);
    assert!(!run.stderr.contains("Preparing"), "{}", run.stderr);
}

#[test]
fn a_step_that_fails_hangs_or_does_not_exist_ends_the_run() {
    let (project, _) = project();
    project.write("src/lib.rs", source(2001));
    project.commit("another number");
    let ends = |step: &str, words: &[&str]| {
        project.write(CONFIG, format!("[[prepare]]\n{step}\n"));
        let run = list(&project, "HEAD~1").expect(101);
        for word in words.iter().chain(&["(.config/perfunit.toml:2)", "hint: "]) {
            assert!(run.stderr.contains(word), "no `{word}` in: {}", run.stderr);
        }
    };
    ends("command = ['sh', '-c', 'echo some words; exit 3']", &["some words", "failed in base (", "exit status: 3"]);
    ends("command = 'sleep 1000'\ntimeout = '500ms'", &["`sleep 1000`", "did not end within 500ms in base ("]);
    ends("command = 'no-such-program --now'", &["`no-such-program --now`", " in base (", "No such file"]);
    ends("command = ['sh', '-c', 'echo x > $NEXTEST_ENV']", &["there is no `=`"]);
}

#[test]
fn a_step_that_changes_files_in_git_is_named() {
    let (project, _) = project();
    project.write("src/lib.rs", source(2001));
    project.commit("another number");
    let config = fs::read_to_string(project.path().join(CONFIG)).unwrap();
    project.write(CONFIG, config.clone() + "[[prepare]]\ncommand = ['sh', '-c', 'echo >> n.txt; rm -r .config']\n");
    let run = project.perfunit(["diff", "HEAD~1", "--message-format", "json"].iter().chain(&QUICK));
    let warnings = run.json()["warnings"].to_string();
    for side in ["base", "head"] {
        let words = format!("changes files of {side} that are in git (in our copy): .config/perfunit.toml, n.txt");
        assert!(warnings.contains(&words), "{warnings}");
    }
    assert_eq!(fs::read_to_string(project.path().join("n.txt")).unwrap(), "12345");
    project.write(CONFIG, config);
    assert!(project.status().is_empty(), "{:?}", project.status());
}

#[test]
fn variables_and_files_of_steps_reach_tests() {
    let source = |rounds: u32| {
        format!(
            "#[inline(never)]\npub fn mix(mut x: u64) -> u64 {{\n    for _ in 0..{rounds} {{ x = x.rotate_left(7) ^ 5; }}\n    x\n}}\n\
             #[cfg(test)]\nmod tests {{\n    use super::*;\n    #[test]\n    fn of_environment() {{\n        \
             assert_eq!(std::env::var(\"WORDS\").as_deref(), Ok(\"a b=c\"));\n        \
             assert_eq!(std::env::var(\"OF_NEXTEST\").as_deref(), Ok(\"1\"));\n        \
             assert_eq!(std::env::var(\"BUILT\").as_deref(), Ok(\"2\"));\n        assert_eq!(env!(\"BUILT\"), \"2\");\n        \
             assert_eq!(std::fs::read_to_string(\"made/data.txt\").unwrap().trim(), \"data\");\n        \
             let service = std::env::var(\"SERVICE\").unwrap();\n        \
             assert!(std::path::Path::new(\"/proc\").join(service).exists());\n        assert_ne!(mix(3), 1);\n    }}\n}}\n"
        )
    };
    let project = Project::library(&source(2000), &source(2001));
    project.write(
        CONFIG,
        "[[prepare]]\ncommand = ['sh', '-c', 'echo BUILT=2 >> $NEXTEST_ENV']\n\n[[prepare]]\nkind = 'test'\n\
         command = ['sh', '-c', 'mkdir made; echo data > made/data.txt; echo WORDS=a b=c >> $NEXTEST_ENV; sleep 600 & echo SERVICE=$! >> $NEXTEST_ENV']\n\
         filter = 'test(environment)'\n\n[[prepare]]\nkind = 'test'\ncommand = 'false'\nfilter = 'test(nothing)'\n",
    );
    project.write(
        ".config/nextest.toml",
        "[scripts.setup.one]\ncommand = { command-line = 'script.sh', relative-to = 'workspace-root' }\n\
         [[profile.default.scripts]]\nsetup = 'one'\n",
    );
    project.write("script.sh", "#!/bin/sh\necho OF_NEXTEST=$NEXTEST >> $NEXTEST_ENV\n");
    let script = project.path().join("script.sh");
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    project.commit("steps");
    // Both versions have the script.
    project.write("src/lib.rs", source(2002));
    project.commit("another number");
    let run = project.perfunit(["diff", "HEAD~1", "--message-format", "json"].iter().chain(&QUICK));
    let document = run.json();
    let test = &document["tests"][0];
    assert!(test["name"] == "tests::of_environment" && !test["verdict"].is_null(), "{document:#}\n{}", run.stderr);
    assert!(project.status().is_empty(), "{:?}", project.status());
}
