//! Checks that services can read the generated jobs.

use super::*;
use saphyr::{LoadableYamlNode, Yaml};
use std::io::Write as _;
use std::process::{Command, Stdio};

/// A job in its long form.
fn new(service: Service, shards: usize, folder: &str) -> Job {
    let shards = NonZeroUsize::new(shards).filter(|n| n.get() > 1);
    Job { service, shards, inline: true, forks: false, branch: "trunk".to_owned(), folder: folder.to_owned() }
}

fn job(service: Service, shards: usize, folder: &str) -> String {
    new(service, shards, folder).render()
}

/// Workflows that use our action, and those with a second workflow for forks.
fn others() -> Vec<String> {
    let jobs =
        [1, 4].into_iter().flat_map(|shards| ["", "rust/app"].map(|folder| new(Service::Github, shards, folder)));
    let forms = jobs.flat_map(|job| [true, false].map(|inline| Job { inline, ..job.clone() }));
    let forms = forms.flat_map(|job| [true, false].map(|forks| Job { forks, ..job.clone() }));
    forms.flat_map(|job| [job.render(), job.render_forks()]).collect()
}

fn all() -> Vec<String> {
    let services = [Service::Github, Service::Gitlab, Service::Generic];
    let of = |service| [(1, ""), (4, ""), (1, "rust/app"), (4, "rust/app")].map(|(n, folder)| job(service, n, folder));
    services.into_iter().flat_map(of).chain(others()).collect()
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
            assert_eq!(steps[0]["with"]["fetch-depth"].as_integer(), Some(0));
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
            if uses == ACTION || uses == FORKS_ACTION {
                continue;
            }
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

#[test]
fn the_workflow_with_our_action_is_short() {
    let short = |forks, folder: &str| Job { inline: false, forks, ..new(Service::Github, 1, folder) };
    let text = short(false, "").render();
    let job = text.split_once("jobs:\n").unwrap().1;
    assert!(job.lines().count() <= 11, "{job}");
    let workflow = yaml(&text);
    let steps = &workflow["jobs"]["perfunit"]["steps"];
    assert_eq!(steps[1]["uses"].as_str(), Some(ACTION));
    assert_eq!(workflow["permissions"]["pull-requests"].as_str(), Some("write"));
    let text = short(true, "rust/app").render();
    let workflow = yaml(&text);
    assert!(workflow["permissions"].as_mapping_get("pull-requests").is_none());
    let inputs = &workflow["jobs"]["perfunit"]["steps"][1]["with"];
    let input = |name: &str| inputs[name].as_str().unwrap();
    assert_eq!(input("comment"), "artifact");
    assert_eq!((input("manifest-path"), input("target-dir")), ("rust/app/Cargo.toml", "rust/app/target"));
}

#[test]
fn what_runs_the_code_of_pull_requests_may_not_write_and_what_may_runs_none() {
    for (shards, inline) in [(1, false), (1, true), (4, true)] {
        let job = Job { inline, forks: true, ..new(Service::Github, shards, "") };
        let (text, second) = (job.render(), job.render_forks());
        assert!(!text.contains("write"), "{text}");
        let workflow = yaml(&second);
        assert_eq!(workflow["permissions"].as_mapping().unwrap().len(), 0);
        assert_eq!(workflow["on"]["workflow_run"]["workflows"][0].as_str(), yaml(&text)["name"].as_str());
        assert!(!second.contains("actions/checkout") && !second.contains("cargo perfunit diff"), "{second}");
        for step in workflow["jobs"]["comment"]["steps"].as_sequence().unwrap() {
            if let Some(run) = step.as_mapping_get("run").and_then(Yaml::as_str) {
                bash_can_read(run);
                assert!(!run.contains("${{"), "{run}");
            }
        }
    }
}

#[track_caller]
fn bash_can_read(script: &str) {
    let output = Command::new("bash").args(["-n", "-c", script]).output().unwrap();
    assert!(output.status.success(), "{}\n{script}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn scripts_of_the_action_are_those_of_the_long_form() {
    let text = job(Service::Github, 1, "");
    for (name, script) in SCRIPTS.iter().filter(|(name, _)| *name != "@github-forks.sh@") {
        bash_can_read(script);
        let first = script.lines().find(|line| !line.starts_with('#')).unwrap();
        assert!(text.contains(&format!("          {first}\n")), "{name}: {text}");
    }
    bash_can_read(include_str!("../github-compare.sh"));
    assert!(include_str!("../github-install.sh").contains(env!("CARGO_PKG_REPOSITORY")));
}
