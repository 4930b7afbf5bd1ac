use super::super::rules::DataFate;
use super::super::source::Sourced;
use super::*;
use perfunit_model::Threshold;

const TEXT: &str = r#"[profile.default]
threshold = "3%"
budget = "10m"
per-test-budget = "4s"

[[profile.default.overrides]]
filter = "test(slow)"
per-test-budget = "1m"

[profile.hook]
threshold = "10%"

[[profile.hook.overrides]]
filter = "package(app)"
threshold = "20%"
metrics = ["allocations"]

[profile.nightly]
deny = ["inconclusive"]

[[skip]]
filter = "test(/^net::/)"
reason = "they wait for a server"

[[data]]
paths = ["tests/data/**"]
reaches = "package(parser)"

[[data]]
paths = ["*.snap"]
ignore = true
"#;

fn configuration(text: &str) -> Configuration {
    Configuration { file: Some(File::read("p.toml", text).unwrap()), ..Configuration::default() }
}

fn resolve(profile: &str, typed: Layer) -> Resolved {
    configuration(TEXT).resolve_with(Some(profile), typed, Layer::default()).unwrap()
}

#[track_caller]
fn check(resolved: &Resolved, key: &str, expected: &str) {
    let row = resolved.settings.rows().into_iter().find(|row| row.key == key).unwrap();
    assert_eq!(format!("{} from {}", row.value, row.from), expected);
}

#[test]
fn the_chosen_profile_counts_more_than_the_default_one_and_that_more_than_what_is_built_in() {
    let hook = resolve("hook", Layer::default());
    check(&hook, "threshold", "10% from p.toml:11");
    check(&hook, "budget", "60s from built in, profile hook");
    check(&hook, "per-test-budget", "4s from p.toml:4");
    check(&hook, "timeout", "10s from built in");
    let default = resolve("default", Layer::default());
    check(&default, "threshold", "3% from p.toml:2");
    check(&default, "budget", "600s from p.toml:3");
    let nightly = resolve("nightly", Layer::default());
    check(&nightly, "deny", "inconclusive from p.toml:19");
    check(&nightly, "threshold", "3% from p.toml:2");
    check(&resolve("ci", Layer::default()), "budget", "none from built in, profile ci");
}

#[test]
fn the_command_line_counts_more_than_the_environment_and_that_more_than_the_file() {
    let threshold = |value: f64, from: Source| Layer {
        threshold: Some(Sourced { value: Threshold::new(value).unwrap(), from }),
        ..Layer::default()
    };
    let variable = || threshold(0.5, Source::Environment { name: "PERFUNIT_THRESHOLD".to_owned() });
    let configuration = configuration(TEXT);
    let both = configuration.resolve_with(None, threshold(0.4, Source::CommandLine), variable()).unwrap();
    check(&both, "threshold", "40% from command line");
    let one = configuration.resolve_with(None, Layer::default(), variable()).unwrap();
    check(&one, "threshold", "50% from PERFUNIT_THRESHOLD");
    check(&one, "budget", "600s from p.toml:3");
}

#[test]
fn overrides_of_the_chosen_profile_come_first_and_yield_to_what_was_typed() {
    let rules = resolve("hook", Layer::default()).rules;
    let filters: Vec<&str> = rules.overrides.iter().map(|rule| rule.filter.value.as_str()).collect();
    assert_eq!(filters, ["package(app)", "test(slow)"]);
    assert_eq!(rules.overrides[0].threshold, Threshold::new(0.2));
    assert!(!rules.typed_threshold);
    let typed = Layer { threshold: Threshold::new(0.01).map(Sourced::from_command_line), ..Layer::default() };
    let rules = resolve("hook", typed).rules;
    assert_eq!(rules.overrides[0].threshold, None);
    assert!(rules.overrides[0].metrics.is_some() && rules.typed_threshold);
    assert_eq!(resolve("default", Layer::default()).rules.overrides.len(), 1);
}

#[test]
fn skips_and_data_rules_hold_in_every_profile() {
    let rules = resolve("ci", Layer::default()).rules;
    assert_eq!(
        (rules.skips[0].filter.from.to_string(), &*rules.skips[0].reason),
        ("p.toml:22".to_owned(), "they wait for a server")
    );
    assert!(matches!(&rules.data[0].fate, DataFate::Reaches(filter) if filter.value == "package(parser)"));
    assert_eq!(rules.data[1].fate, DataFate::Ignored);
}

#[track_caller]
fn check_refusal(text: &str, profile: &str, words: &[&str]) {
    let error = configuration(text).resolve_with(Some(profile), Layer::default(), Layer::default()).unwrap_err();
    let error = error.to_string();
    let missing: Vec<_> = ["hint: "].iter().chain(words).filter(|word| !error.contains(**word)).collect();
    assert!(missing.is_empty(), "without {missing:?}:\n{error}");
}

#[test]
fn contradictions_and_rules_that_say_nothing_are_refused() {
    check_refusal(TEXT, "nightli", &["unknown profile `nightli`", "did you mean nightly?"]);
    check_refusal("", "x", &["the profiles are ci, default, hook"]);
    check_refusal("[[profile.ci.overrides]]\nfilter = \"all()\"\n", "ci", &["p.toml:2: this override sets nothing"]);
    check_refusal("[[skip]]\nfilter = \"all()\"\nreason = \" \"\n", "ci", &["p.toml:3: the reason is empty"]);
    check_refusal("[[data]]\npaths = [\"a\"]\n", "ci", &["p.toml:2: this rule has neither `ignore` nor `reaches`"]);
    check_refusal("[[data]]\npaths = []\nignore = true\n", "ci", &["p.toml:2: this rule has no paths"]);
    check_refusal(
        "[[data]]\npaths = [\"a\"]\nignore = true\nreaches = \"all()\"\n",
        "ci",
        &["p.toml:4", "both `ignore` and `reaches`"],
    );
    check_refusal("[[data]]\npaths = [\"a[\"]\nignore = true\n", "ci", &["p.toml:2", "invalid pattern `a[`"]);
}

#[test]
fn accepted_slowdowns_have_a_size_a_reason_and_an_end() {
    let entry = |size: &str, because: &str, until: &str| {
        format!("[[accept]]\nname = \"tests::a\"\nat-most = \"{size}\"\nbecause = \"{because}\"\nuntil = \"{until}\"\n")
    };
    check_refusal(&entry("5", "x", "2026-12-31"), "ci", &["p.toml:2", "`5` is not a percentage"]);
    check_refusal(&entry("5%", " ", "2026-12-31"), "ci", &["p.toml:2", "the reason is empty"]);
    check_refusal(&entry("5%", "x", "2026-2-31"), "ci", &["p.toml:5: `2026-2-31` is not a day"]);
    let unquoted = |until: &str| entry("5%", "x", until).replace(&format!("\"{until}\""), until);
    check_refusal(&unquoted("2026-12-31T10:00:00"), "ci", &["p.toml:5: `2026-12-31T10:00:00` is not a day"]);
    let error = File::read("p.toml", &unquoted("5")).unwrap_err().to_string();
    assert!(error.contains("p.toml:5") && error.contains("expected a day like \"2026-12-31\""), "{error}");
    // TOML has dates of its own.
    let text = unquoted("2026-12-31") + &entry("7%", "y", "2026-11-30");
    let mut resolved = configuration(&text).resolve_with(None, Layer::default(), Layer::default()).unwrap();
    resolved.drop_expired("2026-11-30");
    assert_eq!((resolved.rules.acceptances.len(), resolved.warnings.len()), (2, 0));
    resolved.drop_expired("2026-12-01");
    assert_eq!(resolved.rules.acceptances.len(), 1);
    assert_eq!(resolved.rules.acceptances[0].from.to_string(), "p.toml:2, until 2026-12-31");
    assert_eq!(
        resolved.warnings,
        ["p.toml:7: the slowdown of `tests::a` was accepted until 2026-11-30: remove the entry"]
    );
}

#[test]
fn without_a_file_everything_is_built_in() {
    let folder = tempfile::tempdir().unwrap();
    let resolved = Configuration::find(folder.path(), None, None).unwrap();
    let resolved = resolved.resolve_with(None, Layer::default(), Layer::default()).unwrap();
    assert_eq!((resolved.file, resolved.rules), (None, Rules::default()));
    let missing = folder.path().join("missing.toml");
    let error = Configuration::find(folder.path(), None, Some(&missing)).unwrap_err().to_string();
    assert!(error.contains("configuration file not found"), "{error}");
}
