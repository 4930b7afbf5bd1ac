//! Commands that prepare a version: `[[prepare]]` of the configuration, and nextest's setup scripts.

use super::layers::problem;
use super::source::{At, Source, SourceOf, Sourced, position};
use super::tables::{CommandLine, PrepareTable, StepKind};
use super::values::duration;
use cfg_expr::targets::get_builtin_target_by_triple;
use cfg_expr::{Expression, Predicate};
use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use perfunit_model::error::{Error, ExitCode, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Path of nextest's configuration, relative to the workspace's root.
pub const NEXTEST: &str = ".config/nextest.toml";
/// Profile of nextest's configuration that is read.
const NEXTEST_PROFILE: &str = "default";
/// Timeout of a step that sets none.
const TIMEOUT: Duration = Duration::from_mins(10);
/// Prefixes of variables that belong to cargo, nextest and us.
const RESERVED: [&str; 3] = ["CARGO_", "NEXTEST", "PERFUNIT"];

/// A command that prepares a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    pub kind: StepKind,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The folder that a relative program is in.
    pub relative_to: RelativeTo,
    /// Variables for the command.
    pub env: BTreeMap<String, String>,
    /// Patterns of the files that decide what the command does; `None` if unknown.
    pub files: Option<Vec<String>>,
    /// Environment variables that decide what the command does.
    pub variables: Vec<String>,
    /// Filtersets of the tests that need the command; all tests if empty.
    pub filters: Vec<Sourced<String>>,
    pub timeout: Duration,
    pub from: Source,
}

/// The folder that a program's relative path starts at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RelativeTo {
    /// The search path, or the workspace's root for a path with a slash.
    #[default]
    None,
    Target,
    WorkspaceRoot,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` ({})", self.command_line(), self.from)
    }
}

impl Step {
    /// Returns the command as it can be typed.
    pub fn command_line(&self) -> String {
        shlex::try_join(self.command.iter().map(String::as_str)).unwrap_or_else(|_| self.command.join(" "))
    }

    /// Returns a description of the time at which the step runs, and of what makes it run again.
    pub fn says(&self) -> String {
        let when = match self.kind {
            StepKind::Build => "before builds",
            StepKind::Test => "before tests",
        };
        match &self.files {
            Some(files) => format!("{when}, again if {} change", files.join(", ")),
            None => when.to_owned(),
        }
    }

    /// Checks whether the inputs of the step are known, so that it need not run again.
    pub fn is_repeatable(&self) -> bool {
        self.kind == StepKind::Build || self.files.is_some() || !self.variables.is_empty()
    }

    /// Returns the patterns of the step's files, relative to the repository's root; `None` if they are unknown.
    pub fn patterns(&self) -> Result<Option<GlobSet>> {
        let Some(files) = &self.files else { return Ok(None) };
        let wrong = |error: globset::Error| Error::usage(format!("{}: {error}", self.from));
        let mut set = GlobSetBuilder::new();
        for file in files {
            // As in git, a star does not match a slash.
            set.add(GlobBuilder::new(file).literal_separator(true).build().map_err(wrong)?);
        }
        set.build().map(Some).map_err(wrong)
    }

    /// Parses the file in which the command left variables for tests, by nextest's protocol: a line `NAME=value` for
    /// each.
    pub fn parse_variables(&self, text: &str) -> Result<BTreeMap<String, String>> {
        let problem = |line: &str, why: &str| {
            let message = format!("{self} wrote an invalid line to the file NEXTEST_ENV: `{line}`: {why}");
            Error::new(ExitCode::BuildFailed, message)
                .hint("write one line `NAME=value` for each variable: echo \"NAME=value\" >> \"$NEXTEST_ENV\"")
        };
        let mut variables = BTreeMap::new();
        for line in text.lines().filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once('=').ok_or_else(|| problem(line, "there is no `=`"))?;
            if name.is_empty() || name.contains(char::is_whitespace) {
                return Err(problem(line, "this is not the name of a variable"));
            }
            if RESERVED.iter().any(|prefix| name.starts_with(prefix)) {
                return Err(problem(line, "names with this prefix are reserved"));
            }
            variables.insert(name.to_owned(), value.to_owned());
        }
        Ok(variables)
    }
}

impl CommandLine {
    /// Returns the words; `None` if there are none or a quote is not closed.
    fn words(&self) -> Option<Vec<String>> {
        let words = match self {
            Self::Text(text) => shlex::split(text)?,
            Self::Words(words) => words.clone(),
        };
        (!words.is_empty()).then_some(words)
    }
}

fn words(command: &CommandLine, from: &Source) -> Result<Vec<String>> {
    command.words().ok_or_else(|| {
        Error::usage(format!("{from}: the command is empty or a quote in it is not closed"))
            .hint("write it as a list: command = [\"sh\", \"-c\", \"echo 'a b'\"]")
    })
}

impl PrepareTable {
    /// Validates the step.
    pub fn validate(&self, place: SourceOf<'_>) -> Result<Step> {
        let Self { command, kind, files, variables, filter, timeout } = self;
        let from = place(command.span());
        if let Some(filter) = filter.as_ref().filter(|_| *kind == StepKind::Build) {
            return Err(Error::usage(format!("{}: a step before builds has no filter", place(filter.span())))
                .hint("remove `filter`, or add `kind = \"test\"`"));
        }
        for pattern in files.iter().flat_map(At::value) {
            Glob::new(pattern).map_err(|error| {
                Error::usage(format!("{from}: invalid pattern `{pattern}`: {}", error.kind()))
                    .hint("`*` and `?` match parts of a name, `**` matches any folders, as in \"proto/**\"")
            })?;
        }
        let filters = filter.iter().map(|filter| Sourced { value: filter.value().clone(), from: place(filter.span()) });
        Ok(Step {
            kind: *kind,
            command: words(command.value(), &from)?,
            relative_to: RelativeTo::None,
            env: BTreeMap::new(),
            files: files.as_ref().map(|files| files.value().clone()),
            variables: variables.clone(),
            filters: filters.collect(),
            timeout: timeout.as_ref().map_or(TIMEOUT, |timeout| timeout.value().0),
            from,
        })
    }
}

/// The parts of nextest's configuration that we read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct NextestFile {
    scripts: NextestScripts,
    /// Setup scripts in the form of nextest before 0.9.98.
    script: BTreeMap<String, At<NextestScript>>,
    profile: BTreeMap<String, NextestProfile>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct NextestScripts {
    setup: BTreeMap<String, At<NextestScript>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct NextestProfile {
    scripts: Vec<NextestRule>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct NextestScript {
    command: NextestCommand,
    #[serde(default)]
    slow_timeout: Option<toml::Value>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum NextestCommand {
    Plain(CommandLine),
    Table {
        #[serde(rename = "command-line")]
        command_line: CommandLine,
        #[serde(rename = "relative-to", default)]
        relative_to: RelativeTo,
        #[serde(default)]
        env: BTreeMap<String, String>,
    },
}

#[derive(Debug, Deserialize)]
struct NextestRule {
    #[serde(default)]
    filter: Option<At<String>>,
    #[serde(default)]
    platform: Option<NextestPlatform>,
    #[serde(default)]
    setup: Option<NextestNames>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum NextestPlatform {
    Target(String),
    Table {
        #[serde(default)]
        host: Option<String>,
        #[serde(default)]
        target: Option<String>,
    },
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum NextestNames {
    One(String),
    Several(Vec<String>),
}

impl NextestScript {
    /// Returns the time after which nextest ends the script, if it does.
    fn end(&self) -> Option<Duration> {
        let timeout = self.slow_timeout.as_ref()?;
        let times = u32::try_from(timeout.get("terminate-after")?.as_integer()?).ok()?;
        Some(duration(timeout.get("period")?.as_str()?).ok()? * times)
    }
}

impl NextestNames {
    fn has(&self, name: &str) -> bool {
        match self {
            Self::One(one) => one == name,
            Self::Several(several) => several.iter().any(|one| one == name),
        }
    }
}

impl NextestPlatform {
    /// Checks whether the platform is this machine's. `host` returns its triple.
    fn is_here(&self, host: &str, from: &Source) -> Result<bool> {
        let Self::Table { host: one, target } = self else {
            let Self::Target(target) = self else { return Ok(true) };
            return is_platform(target, host, from);
        };
        for spec in one.iter().chain(target) {
            if !is_platform(spec, host, from)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Checks whether a platform is meant by a `cfg(..)` expression or a triple.
fn is_platform(spec: &str, host: &str, from: &Source) -> Result<bool> {
    if !spec.trim_start().starts_with("cfg(") {
        return Ok(spec == host);
    }
    let expression = Expression::parse(spec)
        .map_err(|error| Error::usage(format!("{from}: `{spec}` is not a platform: {}", error.reason)))?;
    let target = get_builtin_target_by_triple(host);
    Ok(expression.eval(|predicate| match predicate {
        Predicate::Target(wanted) => target.is_some_and(|target| wanted.matches(target)),
        _ => false,
    }))
}

/// Reads the setup scripts of nextest's default profile, in the order of their definitions. `host` returns this
/// machine's triple.
pub fn nextest_scripts(text: &str, host: &dyn Fn() -> Result<String>) -> Result<Vec<Step>> {
    let hint =
        "https://nexte.st/docs/configuration describes nextest's configuration; only setup scripts are read here";
    let file: NextestFile = toml::from_str(text).map_err(|error| problem(NEXTEST, text, &error, hint))?;
    let place = |span: Range<usize>| Source::File { path: NEXTEST.to_owned(), line: position(text, span.start).0 };
    let rules = file.profile.get(NEXTEST_PROFILE).map_or(&[][..], |profile| &profile.scripts);
    let mut scripts: Vec<_> = file.scripts.setup.iter().chain(&file.script).collect();
    scripts.sort_by_key(|(_, script)| script.span().start);
    let mut steps = Vec::new();
    for (name, script) in scripts {
        let from = place(script.span());
        let mut filters = Some(Vec::new());
        let mut is_used = false;
        for rule in rules.iter().filter(|rule| rule.setup.as_ref().is_some_and(|names| names.has(name))) {
            if let Some(platform) = &rule.platform
                && !platform.is_here(&host()?, &from)?
            {
                continue;
            }
            is_used = true;
            match (&mut filters, &rule.filter) {
                (Some(filters), Some(filter)) => {
                    filters.push(Sourced { value: filter.value().clone(), from: place(filter.span()) });
                }
                // A rule without a filter matches all tests.
                (filters, _) => *filters = None,
            }
        }
        if !is_used {
            continue;
        }
        let script = script.value();
        let (command, relative_to, env) = match &script.command {
            NextestCommand::Plain(command) => (command, RelativeTo::None, BTreeMap::new()),
            NextestCommand::Table { command_line, relative_to, env } => (command_line, *relative_to, env.clone()),
        };
        steps.push(Step {
            kind: StepKind::Test,
            command: words(command, &from)?,
            relative_to,
            env,
            files: None,
            variables: Vec::new(),
            filters: filters.unwrap_or_default(),
            timeout: script.end().unwrap_or(TIMEOUT),
            from,
        });
    }
    Ok(steps)
}

/// Returns the program of a command, if it is a path relative to a folder.
pub fn program_in(step: &Step, target: &Path, root: &Path) -> Option<PathBuf> {
    let program = step.command.first()?;
    match step.relative_to {
        RelativeTo::None if program.contains('/') => Some(root.join(program)),
        RelativeTo::None => None,
        RelativeTo::Target => Some(target.join(program)),
        RelativeTo::WorkspaceRoot => Some(root.join(program)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: &str = "x86_64-unknown-linux-gnu";

    fn scripts(text: &str) -> Result<Vec<Step>> {
        nextest_scripts(text, &|| Ok(HOST.to_owned()))
    }

    #[test]
    fn nextests_scripts_come_in_the_order_of_their_definitions_if_a_rule_uses_them() {
        let text = r#"experimental = ["setup-scripts"]
[profile.default]
slow-timeout = "60s"

[scripts.setup.zeta]
command = 'sh -c "echo A=1 >> $NEXTEST_ENV"'

[scripts.setup.alpha]
command = { command-line = ["debug/setup", "x y"], relative-to = "target", env = { DB = "a" } }
slow-timeout = { period = "2s", terminate-after = 3 }

[scripts.setup.unused]
command = "false"

[scripts.setup.elsewhere]
command = "false"

[[profile.default.scripts]]
filter = "test(a)"
setup = ["alpha", "zeta"]

[[profile.default.scripts]]
platform = { host = "cfg(unix)" }
setup = "alpha"

[[profile.default.scripts]]
platform = "cfg(windows)"
setup = "elsewhere"

[[profile.ci.scripts]]
setup = "unused"
"#;
        let steps = scripts(text).unwrap();
        assert_eq!(steps.len(), 2, "{steps:#?}");
        let [zeta, alpha] = &steps[..] else { unreachable!() };
        assert_eq!(zeta.command, ["sh", "-c", "echo A=1 >> $NEXTEST_ENV"]);
        assert_eq!((zeta.timeout, zeta.filters[0].value.as_str()), (TIMEOUT, "test(a)"));
        assert_eq!(zeta.filters[0].from.to_string(), ".config/nextest.toml:19");
        assert_eq!(alpha.command, ["debug/setup", "x y"]);
        assert_eq!((alpha.timeout, alpha.filters.len()), (Duration::from_secs(6), 0));
        assert_eq!((alpha.relative_to, &*alpha.env["DB"]), (RelativeTo::Target, "a"));
        assert_eq!(alpha.from.to_string(), ".config/nextest.toml:8");
        assert!(steps.iter().all(|step| step.kind == StepKind::Test && !step.is_repeatable()));
        let old = "[script.a]\ncommand = 'true'\n[[profile.default.scripts]]\nsetup = 'a'\n";
        assert_eq!(scripts(old).unwrap()[0].command, ["true"]);
    }

    #[test]
    fn problems_in_nextests_file_have_their_place() {
        let refused = |text: &str, words: &str| {
            let error = scripts(text).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        };
        refused("[scripts.setup.a]\n", ".config/nextest.toml:1:1: missing field `command`");
        let rule = |rule: &str| format!("[scripts.setup.a]\ncommand = 'true'\n[[profile.default.scripts]]\n{rule}");
        refused(&rule("setup = 'a'\nplatform = 'cfg('\n"), "`cfg(` is not a platform");
        refused(
            &rule("setup = 'a'\n").replace("'true'", "\"echo 'a\""),
            "nextest.toml:1: the command is empty or a quote",
        );
        assert_eq!(scripts(&rule("setup = 'a'\nplatform = 'aarch64-apple-darwin'\n")).unwrap(), []);
        assert_eq!(scripts(&rule(&format!("setup = 'a'\nplatform = '{HOST}'\n"))).unwrap().len(), 1);
        assert_eq!(scripts("").unwrap(), []);
    }

    #[test]
    fn exported_variables_are_lines_of_name_and_value() {
        let step =
            &scripts("[scripts.setup.a]\ncommand = 'make'\n[[profile.default.scripts]]\nsetup = 'a'\n").unwrap()[0];
        let variables = step.parse_variables("A=1\n\nB=x=y z\nA=2\nC=\n").unwrap();
        let expected = [("A", "2"), ("B", "x=y z"), ("C", "")];
        assert_eq!(variables, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        for (text, why) in [
            ("A", "there is no `=`"),
            ("=1", "not the name"),
            ("A B=1", "not the name"),
            ("NEXTEST_X=1", "reserved"),
            ("CARGO_HOME=1", "reserved"),
        ] {
            let error = step.parse_variables(text).unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("`make` (.config/nextest.toml:1)"), "{error}");
        }
    }
}
