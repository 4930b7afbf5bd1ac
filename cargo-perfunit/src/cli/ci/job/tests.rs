//! Checks that services can read the generated jobs.

use super::*;
use saphyr::{LoadableYamlNode, Yaml};
use std::io::Write as _;
use std::process::{Command, Stdio};

fn job(service: Service, shards: usize, folder: &str) -> String {
    let shards = NonZeroUsize::new(shards).filter(|n| n.get() > 1);
    Job { service, shards, branch: "trunk".to_owned(), folder: folder.to_owned() }.render()
}

fn all() -> Vec<String> {
    let services = [Service::Github, Service::Gitlab, Service::Generic];
    let of = |service| [(1, ""), (4, ""), (1, "rust/app"), (4, "rust/app")].map(|(n, folder)| job(service, n, folder));
    services.into_iter().flat_map(of).collect()
}

#[track_caller]
fn yaml(text: &str) -> Yaml<'_> {
    let mut documents = Yaml::load_from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(documents.len(), 1);
    documents.remove(0)
}

#[track_caller]
fn shell_can_read(script: &str) {
    let mut shell = Command::new("sh").arg("-n").stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    shell.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let output = shell.wait_with_output().unwrap();
    assert!(output.status.success(), "{}\n{script}", String::from_utf8_lossy(&output.stderr));
}

/// Fills in GitHub's expressions, which GitHub replaces before a shell reads the script.
fn expressions_filled_in(script: &str) -> String {
    let mut parts = script.split("${{");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + "value" + part.split_once("}}").unwrap().1)
}

#[test]
fn nothing_is_left_to_fill_in() {
    for text in all() {
        let is_name = |word: &str| word.len() > 2 && word.chars().all(|c| c.is_ascii_uppercase());
        assert!(!text.split('@').any(is_name), "{text}");
        assert!(text.ends_with('\n') && !text.contains(" \n"), "{text}");
    }
}

#[test]
fn github_gets_steps_that_a_shell_can_read() {
    for (shards, jobs) in [(1, &["base", "perfunit"][..]), (3, &["base", "measure", "perfunit"])] {
        let text = job(Service::Github, shards, "");
        let workflow = yaml(&text);
        assert!(workflow["on"].as_mapping().unwrap().contains_key(&Yaml::value_from_str("pull_request")));
        assert_eq!(workflow["jobs"].as_mapping().unwrap().len(), jobs.len());
        for name in jobs {
            let steps = workflow["jobs"][*name]["steps"].as_sequence().unwrap();
            for step in steps {
                let text = |key: &str| step.as_mapping_get(key).and_then(Yaml::as_str);
                let (uses, run) = (text("uses"), text("run"));
                assert!(uses.is_some() != run.is_some(), "{step:?}");
                if let Some(run) = run {
                    shell_can_read(&expressions_filled_in(run));
                    // Text from pull requests must not become part of a script.
                    assert!(!run.contains("${{"), "{run}");
                }
            }
            assert_eq!(steps[0]["with"]["fetch-depth"].as_integer(), Some(2));
        }
    }
}

#[test]
fn github_keeps_the_base_of_the_default_branch_and_compares_with_the_merge_commit_s_first_parent() {
    for shards in [1, 3] {
        let text = job(Service::Github, shards, "");
        let workflow = yaml(&text);
        assert_eq!(workflow["on"]["push"]["branches"][0].as_str(), Some("trunk"));
        assert!(text.contains("cargo perfunit diff HEAD^1..HEAD"), "{text}");
        let used = |job: &str, action: &str| {
            let steps = workflow["jobs"][job]["steps"].as_sequence().unwrap().iter();
            let is = |step: &&Yaml<'_>| {
                step.as_mapping_get("uses").and_then(Yaml::as_str).is_some_and(|uses| uses.starts_with(action))
            };
            steps.filter(is).map(|step| step["with"]["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let saved = used("base", "actions/cache/save@");
        assert!(saved.len() == 1 && saved == used("base", "actions/cache/restore@"), "{text}");
        let measuring = if shards == 1 { "perfunit" } else { "measure" };
        assert_eq!(used(measuring, "actions/cache/restore@"), saved);
        assert!(used(measuring, "actions/cache/save@").is_empty());
    }
}

#[test]
fn actions_are_pinned_by_hash_with_the_version_beside_it() {
    for text in all() {
        for uses in text.lines().filter_map(|line| line.trim_start_matches([' ', '-']).strip_prefix("uses: ")) {
            let (action, version) = uses.split_once(" # v").unwrap_or_else(|| panic!("{uses}"));
            let (_, hash) = action.split_once('@').unwrap();
            assert!(hash.len() == 40 && hash.chars().all(|c| c.is_ascii_hexdigit()), "{uses}");
            assert!(version.split('.').count() == 3, "{uses}");
        }
    }
}

#[test]
fn gitlab_gets_lines_that_a_shell_can_read() {
    for (shards, jobs) in [(1, &["perfunit"][..]), (3, &["perfunit-measure", "perfunit"])] {
        let text = job(Service::Gitlab, shards, "");
        let pipeline = yaml(&text);
        for name in jobs {
            let lines = pipeline[*name]["script"].as_sequence().unwrap();
            let script: Vec<&str> = lines.iter().map(|line| line.as_str().unwrap()).collect();
            shell_can_read(&script.join("\n"));
            assert_eq!(pipeline[*name]["variables"]["GIT_DEPTH"].as_str(), Some("0"));
        }
    }
}

#[test]
fn scripts_can_be_read_by_any_shell() {
    for shards in [1, 4] {
        shell_can_read(&job(Service::Generic, shards, "rust/app"));
    }
}

#[test]
fn a_project_below_the_top_is_named() {
    for service in [Service::Github, Service::Gitlab, Service::Generic] {
        let text = job(service, 1, "rust/app");
        assert!(text.contains(" --profile ci --manifest-path rust/app/Cargo.toml\n"), "{text}");
        assert!(text.contains("rust/app/target/perfunit"), "{text}");
        assert!(!job(service, 1, "").contains("--manifest-path"));
    }
}

#[test]
fn shards_are_all_measured_and_merged() {
    for service in [Service::Github, Service::Gitlab, Service::Generic] {
        let text = job(service, 4, "");
        assert!(text.contains("--partition \"slice:") && text.contains("cargo perfunit merge"), "{text}");
    }
    assert!(job(Service::Github, 4, "").contains("shard: [1, 2, 3, 4]"));
}
