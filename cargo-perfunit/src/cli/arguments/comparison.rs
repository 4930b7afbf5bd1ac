//! Arguments of subcommands that compare versions. Cargo's own flags are spelled and grouped as in cargo.

use super::output::terminal;
use super::project::{ConfigurationArguments, place};
use clap::{ArgAction, Args};
use perfunit_build as build;
use perfunit_model::error::Result;
use perfunit_model::{Ignored, Lto, Partition, TargetKind};
use perfunit_project::config::{Features, Layer, Resolved, Settings, Sourced};
use perfunit_project::git::Request;
use perfunit_session::{Filter, Measuring, Options, Scope};
use perfunit_system::term::{ColorChoice, Terminal};
use std::path::PathBuf;

/// Arguments of all subcommands that compare versions.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct CommonArguments {
    /// Version to compare with: a revision, or `BASE..HEAD`.
    ///
    /// A revision is anything that git accepts: a branch, a tag, a commit, `HEAD~1`. Head is compared with its merge
    /// base with that revision, so that other people's commits on `main` do not count. `BASE..HEAD` compares exactly
    /// these two, `BASE...HEAD` compares head with the merge base of both. A word that is not a revision but part of a
    /// test's name is a FILTER.
    // The order is lost if a subcommand rewords one of the two.
    #[arg(index = 1)]
    pub base: Option<String>,
    /// Only run tests with one of these in their name.
    ///
    /// Names are those that `cargo test` prints: `parser::tests::long_lines`.
    #[arg(index = 2)]
    pub filter: Vec<String>,
    /// Test this version instead of the working tree.
    ///
    /// Any revision. Without it, the working tree is tested, including uncommitted changes.
    #[arg(long, value_name = "REV")]
    pub head: Option<String>,
    /// Only run tests that match this filterset (nextest's expression language).
    ///
    /// For example `package(parser) & test(/^long/)`. A test must match one of several expressions, and one of the
    /// names if any are given.
    #[arg(long, short = 'E', visible_alias = "filter-expr", value_name = "EXPRESSION", help_heading = "Tests")]
    pub filterset: Vec<String>,
    /// Match FILTERs against whole test names.
    #[arg(long, help_heading = "Tests")]
    pub exact: bool,
    /// Skip tests with this in their name.
    #[arg(long, value_name = "FILTER", help_heading = "Tests")]
    pub skip: Vec<String>,
    /// Only run a share of the tests: `slice:1/4` (every fourth test by name) or `hash:1/4` (each test stays in its
    /// shard); `merge` joins the runs of all shards.
    #[arg(long, value_name = "PARTITION", help_heading = "Tests", hide_short_help = true)]
    pub partition: Option<Partition>,
    /// Run all tests of the selected packages, even if the change cannot reach them.
    ///
    /// Shows the noise of the machine if nothing changed, or checks the selection.
    #[arg(long, help_heading = "Tests")]
    pub all_tests: bool,
    /// Which tests marked #[ignore] to run [default: default].
    #[arg(long, value_enum, value_name = "WHICH", help_heading = "Tests")]
    pub run_ignored: Option<Ignored>,
    /// Ignore the configuration's default-filter.
    #[arg(long, help_heading = "Tests")]
    pub ignore_default_filter: bool,

    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub configuration: ConfigurationArguments,
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub packages: PackageArguments,
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub cargo: CargoArguments,

    /// Print more details: p-value, effect size, pairs and reason for selection of each test.
    #[arg(long, short, action = ArgAction::Count, help_heading = "Output")]
    pub verbose: u8,
    /// Only print the result.
    #[arg(long, short, conflicts_with = "verbose", help_heading = "Output")]
    pub quiet: bool,
    /// When to color the output.
    #[arg(long, value_enum, value_name = "WHEN", env = "CARGO_TERM_COLOR", default_value_t, help_heading = "Output")]
    pub color: ColorChoice,
}

/// Cargo's package and target selection.
#[derive(Debug, Args)]
#[command(next_help_heading = "Package and target selection")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of cargo's")]
pub struct PackageArguments {
    /// Package to test.
    ///
    /// A name, a pattern (`core-*`) or a package ID (`name@version`).
    #[arg(long, short, value_name = "SPEC")]
    pub package: Vec<String>,
    /// Test all packages in the workspace.
    #[arg(long)]
    pub workspace: bool,
    /// Exclude packages from --workspace.
    #[arg(long, value_name = "SPEC", requires = "workspace", hide_short_help = true)]
    pub exclude: Vec<String>,
    /// Only test the unit tests of libraries.
    #[arg(long)]
    pub lib: bool,
    /// Only test the unit tests of all binaries.
    #[arg(long, hide_short_help = true)]
    pub bins: bool,
    /// Only test the unit tests of this binary, or of binaries that match a pattern.
    #[arg(long, value_name = "NAME")]
    pub bin: Vec<String>,
    /// Only test this integration test, or those that match a pattern.
    #[arg(long, value_name = "NAME")]
    pub test: Vec<String>,
    /// Only test the benchmarks of this bench target, or of bench targets that match a pattern.
    #[arg(long, value_name = "NAME")]
    pub bench: Vec<String>,
    /// Test the benchmarks of all bench targets, which are skipped by default; alone, test nothing else.
    #[arg(long)]
    pub benches: bool,
    /// Only test what cargo calls tests: integration tests, and the unit tests of libraries and binaries.
    #[arg(long, hide_short_help = true)]
    pub tests: bool,
    /// Test the doc tests of libraries, which are skipped by default; alone, test nothing else.
    #[arg(long)]
    pub doc: bool,
    /// Test all targets with tests (the default).
    #[arg(long, hide_short_help = true)]
    pub all_targets: bool,
}

/// Cargo's build options.
#[derive(Debug, Args)]
#[command(next_help_heading = "Build")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of cargo's")]
pub struct CargoArguments {
    /// Features to activate, separated by spaces or commas.
    #[arg(long, short = 'F', value_name = "FEATURES")]
    pub features: Vec<String>,
    /// Activate all available features.
    #[arg(long)]
    pub all_features: bool,
    /// Do not activate the `default` feature.
    #[arg(long, hide_short_help = true)]
    pub no_default_features: bool,
    /// Cargo profile for building both versions [default: bench].
    ///
    /// Measure the code that you ship: the default is optimized. If tests need overflow checks or debug assertions,
    /// name a profile that enables them.
    #[arg(long, value_name = "NAME")]
    pub cargo_profile: Option<String>,
    /// Whether to build with the profile's link-time optimization (LTO) [default: off].
    ///
    /// LTO optimizes all crates of an executable together. It takes most of the build time, and hides which function
    /// changed. With `off`, builds still use LTO if it differs between the versions.
    #[arg(long, value_name = "WHEN", hide_short_help = true)]
    pub lto: Option<Lto>,
    /// Directory for all generated artifacts.
    ///
    /// cargo-perfunit uses the `perfunit` folder in it, or one for each workspace if it is outside of the workspace.
    #[arg(long, value_name = "DIRECTORY", hide_short_help = true)]
    pub target_dir: Option<PathBuf>,
    /// Path to Cargo.toml.
    #[arg(long, value_name = "PATH", hide_short_help = true)]
    pub manifest_path: Option<PathBuf>,
    /// Number of parallel jobs.
    #[arg(long, short, value_name = "N", hide_short_help = true)]
    pub jobs: Option<String>,
    /// Override a cargo configuration value.
    #[arg(long, value_name = "KEY=VALUE|PATH", hide_short_help = true)]
    pub config: Vec<String>,
    /// Assert that Cargo.lock will remain unchanged.
    #[arg(long, hide_short_help = true)]
    pub locked: bool,
    /// Run without accessing the network.
    #[arg(long, hide_short_help = true)]
    pub offline: bool,
    /// Equivalent to both --locked and --offline.
    #[arg(long, hide_short_help = true)]
    pub frozen: bool,
}

impl CommonArguments {
    /// Sets up the output.
    pub fn terminal(&self) -> Terminal {
        terminal(self.color, self.quiet)
    }

    /// Resolves the configuration with the typed options on top, and prints its warnings.
    pub fn resolve(&self, typed: Layer) -> Result<Resolved> {
        let (folder, manifest) = place(self.cargo.manifest_path.as_deref())?;
        let typed = self.layer().or(typed);
        let mut resolved = self.configuration.find(&folder, manifest.as_deref(), typed, self.terminal())?;
        if self.ignore_default_filter {
            resolved.rules.default_filter = None;
        }
        Ok(resolved)
    }

    /// Returns the options of the comparison.
    pub fn options(&self, resolved: &Resolved, measuring: Measuring) -> Result<Options> {
        let (folder, manifest) = place(self.cargo.manifest_path.as_deref())?;
        let settings = &resolved.settings;
        Ok(Options {
            manifest,
            target_dir: self.cargo.target_dir.clone(),
            scope: scope(&self.packages),
            filter: filter(self, settings),
            rules: resolved.rules.clone(),
            configuration: self.configuration_words(),
            all_tests: self.all_tests,
            build: build::Options {
                profile: settings.cargo_profile.value.clone(),
                lto: settings.lto.value,
                arguments: cargo_arguments(&self.cargo, &settings.features.value.0),
            },
            partition: self.partition,
            measuring,
            ..Options::new(folder, Request::parse(self.base.as_deref(), self.head.as_deref())?)
        })
    }

    /// Returns the options that selected the configuration, so that a command can repeat them.
    fn configuration_words(&self) -> Vec<String> {
        let ConfigurationArguments { profile, config_file } = &self.configuration;
        let profile = profile.iter().filter(|name| !name.is_empty()).flat_map(|name| ["--profile", name.as_str()]);
        let mut words: Vec<String> = profile.map(str::to_owned).collect();
        if let Some(file) = config_file {
            words.extend(["--config-file".to_owned(), file.to_string_lossy().into_owned()]);
        }
        words.extend(self.ignore_default_filter.then(|| "--ignore-default-filter".to_owned()));
        words
    }

    /// Returns the typed options that are also settings of the configuration.
    fn layer(&self) -> Layer {
        let cargo = &self.cargo;
        Layer {
            run_ignored: self.run_ignored.map(Sourced::from_command_line),
            cargo_profile: cargo.cargo_profile.clone().map(Sourced::from_command_line),
            lto: cargo.lto.map(Sourced::from_command_line),
            features: (!cargo.features.is_empty())
                .then(|| Sourced::from_command_line(Features(cargo.features.clone()))),
            ..Layer::default()
        }
    }
}

fn scope(packages: &PackageArguments) -> Scope {
    let mut targets = Vec::new();
    if packages.lib || packages.tests {
        targets.push((TargetKind::Lib, None));
    }
    if packages.bins || packages.tests {
        targets.push((TargetKind::Bin, None));
    }
    if packages.tests {
        targets.push((TargetKind::Test, None));
    }
    if packages.doc {
        targets.push((TargetKind::Doctest, None));
    }
    if packages.benches {
        targets.push((TargetKind::Bench, None));
    }
    targets.extend(packages.bench.iter().map(|name| (TargetKind::Bench, Some(name.clone()))));
    targets.extend(packages.bin.iter().map(|name| (TargetKind::Bin, Some(name.clone()))));
    targets.extend(packages.test.iter().map(|name| (TargetKind::Test, Some(name.clone()))));
    if packages.all_targets {
        targets.clear();
    }
    Scope {
        packages: packages.package.clone(),
        workspace: packages.workspace,
        exclude: packages.exclude.clone(),
        targets,
        ..Scope::default()
    }
}

fn filter(common: &CommonArguments, settings: &Settings) -> Filter {
    let ignored = settings.run_ignored.value;
    Filter {
        names: common.filter.clone(),
        expressions: common.filterset.clone(),
        exact: common.exact,
        skip: common.skip.clone(),
        ignored,
    }
}

/// Rejects all values of an option that `diff` has but that has no meaning here.
pub fn refuse<T>(_: &str) -> std::result::Result<T, &'static str> {
    Err("this command compares whole steps of a history")
}

/// Returns the flags that are passed to cargo unchanged.
fn cargo_arguments(cargo: &CargoArguments, features: &[String]) -> Vec<String> {
    let mut arguments = Vec::new();
    let mut with_value = |flag: &str, value: &String| arguments.extend([flag.to_owned(), value.clone()]);
    for features in features {
        with_value("--features", features);
    }
    cargo.jobs.iter().for_each(|jobs| with_value("--jobs", jobs));
    // The path of a file is relative to this folder, but cargo runs elsewhere.
    let from_here = |config: &String| match std::path::absolute(config) {
        Ok(file) if file.is_file() => file.display().to_string(),
        _ => config.clone(),
    };
    cargo.config.iter().for_each(|config| with_value("--config", &from_here(config)));
    let switches = [
        (cargo.all_features, "--all-features"),
        (cargo.no_default_features, "--no-default-features"),
        (cargo.locked, "--locked"),
        (cargo.offline, "--offline"),
        (cargo.frozen, "--frozen"),
    ];
    arguments.extend(switches.into_iter().filter(|(on, _)| *on).map(|(_, flag)| flag.to_owned()));
    arguments
}
