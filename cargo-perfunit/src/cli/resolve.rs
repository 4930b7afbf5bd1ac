//! From arguments as typed to what the stages take.

use super::arguments::{
    CalibrateArguments, CleanArguments, CommonArguments, CountInstructions, DiffArguments, ExplainArguments,
    ExplainEngine, ExplainStrategy, ExplainTests, Layout, ListArguments, PackageArguments, RunIgnored,
};
use crate::build;
use crate::calibrate;
use crate::commands::{CalibrateRequest, CleanOptions, ExplainView};
use crate::error::{Error, Result};
use crate::git::Request;
use crate::measure::{Instructions, Placement};
use crate::model::{Engine, Metric, Strategy, TargetKind};
use crate::pipeline::{Explain, ExplainRequest, Explaining, Filter, Ignored, Measuring, Options, Scope};
use crate::term::{self, Terminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Sets up the output.
pub fn terminal(common: &CommonArguments) -> Terminal {
    term::set_color(common.color);
    Terminal { quiet: common.quiet }
}

/// Resolves `diff`.
pub fn diff_options(arguments: &DiffArguments) -> Result<Options> {
    let typed = &arguments.measuring;
    let measuring = Measuring {
        threshold: typed.threshold,
        timeout: typed.timeout,
        budget: typed.budget,
        per_test_budget: typed.per_test_budget,
        seed: typed.seed.unwrap_or_else(|| fastrand::u64(..)),
        equal_seeds: !typed.unequal_seeds,
        placement: match typed.layout {
            Layout::Matched => Placement::Matched,
            Layout::Natural => Placement::Natural,
        },
        // In the order of reports, whatever was typed.
        gates: Metric::ALL.into_iter().filter(|metric| typed.metric.contains(metric)).collect(),
        instructions: match typed.instructions {
            CountInstructions::Auto => Instructions::Auto,
            CountInstructions::Callgrind => Instructions::Callgrind,
            CountInstructions::Never => Instructions::Never,
        },
        ..Measuring::default()
    };
    let options = options(&arguments.common, measuring)?;
    let explain = match typed.explain {
        ExplainTests::Auto => Explain::Auto,
        ExplainTests::Always => Explain::Always,
        ExplainTests::Never => Explain::Never,
    };
    let explaining = Explaining {
        explain,
        engine: engine(typed.engine),
        strategy: strategy(typed.strategy),
        ..Explaining::default()
    };
    Ok(Options {
        opaque_constants: !typed.transparent_constants,
        aligned_loops: typed.aligned_loops,
        explaining,
        ..options
    })
}

/// Sets up the output of `explain`.
pub fn explain_terminal(arguments: &ExplainArguments) -> Terminal {
    term::set_color(arguments.color);
    Terminal { quiet: arguments.quiet }
}

/// What `explain` is to show.
pub fn explain_view(arguments: &ExplainArguments) -> ExplainView {
    match arguments {
        ExplainArguments { function: Some(path), .. } => ExplainView::Function(path.clone()),
        ExplainArguments { hot: true, .. } => ExplainView::Hot,
        ExplainArguments { flamegraph, .. } => ExplainView::Blame { flamegraph: flamegraph.clone() },
    }
}

/// Resolves `explain`.
pub fn explain_request(arguments: &ExplainArguments) -> Result<ExplainRequest> {
    let manifest = arguments.manifest_path.as_deref().map(real).transpose()?;
    Ok(ExplainRequest {
        folder: manifest.as_deref().and_then(Path::parent).map_or_else(folder, |parent| Ok(parent.to_owned()))?,
        manifest,
        target_dir: arguments.target_dir.clone(),
        tests: arguments.tests.clone(),
        exact: arguments.exact,
        explaining: Explaining {
            explain: Explain::Always,
            engine: arguments.engine.and_then(engine),
            strategy: arguments.strategy.and_then(strategy),
            ..Explaining::default()
        },
        again: arguments.strategy.is_some() || arguments.engine.is_some(),
        budget: arguments.budget,
    })
}

fn engine(typed: ExplainEngine) -> Option<Engine> {
    match typed {
        ExplainEngine::Auto => None,
        ExplainEngine::Probes => Some(Engine::Probes),
        ExplainEngine::Callgrind => Some(Engine::Callgrind),
    }
}

fn strategy(typed: ExplainStrategy) -> Option<Strategy> {
    match typed {
        ExplainStrategy::Auto => None,
        ExplainStrategy::Complete => Some(Strategy::Complete),
        ExplainStrategy::Levelwise => Some(Strategy::Levelwise),
        ExplainStrategy::UntilSourceChange => Some(Strategy::UntilSourceChange),
    }
}

/// Resolves `list`.
pub fn list_options(arguments: &ListArguments) -> Result<Options> {
    let mut options = options(&arguments.common, Measuring::default())?;
    options.all_tests |= arguments.all;
    Ok(options)
}

/// Sets up the output of `calibrate`.
pub fn calibrate_terminal(arguments: &CalibrateArguments) -> Terminal {
    term::set_color(arguments.color);
    Terminal { quiet: arguments.quiet }
}

/// Resolves `calibrate`.
pub fn calibrate_request(arguments: &CalibrateArguments) -> CalibrateRequest {
    let CalibrateArguments { quick, compare, show, budget, per_test_budget, seed, .. } = *arguments;
    if show {
        return CalibrateRequest::Show;
    }
    // With the time for a verdict that `diff` takes by default, or with one that fits into a minute.
    let (whole, verdict) = if quick { (60, 2) } else { (7 * 60, 10) };
    CalibrateRequest::Make(calibrate::Options {
        quick,
        budget: budget.unwrap_or(Duration::from_secs(whole) * if compare { 2 } else { 1 }),
        verdict_budget: per_test_budget.unwrap_or(Duration::from_secs(verdict)),
        compare,
        // Short enough to be typed again, and for every reader of JSON.
        seed: seed.unwrap_or_else(|| fastrand::u32(..).into()),
    })
}

/// Resolves `clean`.
pub fn clean_options(arguments: &CleanArguments) -> Result<CleanOptions> {
    let CleanArguments { cache, manifest_path, target_dir } = arguments;
    Ok(CleanOptions {
        folder: folder()?,
        manifest: manifest_path.clone(),
        target_dir: target_dir.clone(),
        cache: *cache,
    })
}

fn options(common: &CommonArguments, measuring: Measuring) -> Result<Options> {
    let cargo = &common.cargo;
    let manifest = cargo.manifest_path.as_deref().map(real).transpose()?;
    let folder = match manifest.as_deref().and_then(Path::parent) {
        Some(parent) => parent.to_owned(),
        None => folder()?,
    };
    Ok(Options {
        folder,
        manifest,
        target_dir: cargo.target_dir.clone(),
        request: Request::parse(common.base.as_deref(), common.head.as_deref())?,
        scope: scope(&common.packages),
        filter: filter(common),
        all_tests: common.all_tests,
        build: build::Options { profile: cargo.cargo_profile.clone(), arguments: cargo_arguments(common) },
        opaque_constants: true,
        aligned_loops: false,
        explaining: Explaining::default(),
        measuring,
    })
}

/// The current folder without symbolic links, as git and cargo see it.
pub fn folder() -> Result<PathBuf> {
    std::env::current_dir()
        .and_then(|dir| dir.canonicalize())
        .map_err(|error| Error::setup(format!("cannot find the current folder: {error}")))
}

fn real(manifest: &Path) -> Result<PathBuf> {
    if manifest.file_name().is_none_or(|name| name != "Cargo.toml") {
        return Err(Error::usage(format!(
            "--manifest-path must be a path to a Cargo.toml, not {}",
            manifest.display()
        )));
    }
    manifest.canonicalize().map_err(|error| Error::usage(format!("--manifest-path {}: {error}", manifest.display())))
}

fn scope(packages: &PackageArguments) -> Scope {
    let mut targets = Vec::new();
    if packages.lib {
        targets.push((TargetKind::Lib, None));
    }
    if packages.bins {
        targets.push((TargetKind::Bin, None));
    }
    targets.extend(packages.bin.iter().map(|name| (TargetKind::Bin, Some(name.clone()))));
    targets.extend(packages.test.iter().map(|name| (TargetKind::Test, Some(name.clone()))));
    Scope {
        packages: packages.package.clone(),
        workspace: packages.workspace,
        exclude: packages.exclude.clone(),
        targets,
    }
}

fn filter(common: &CommonArguments) -> Filter {
    let ignored = match common.run_ignored {
        RunIgnored::Default => Ignored::Skip,
        RunIgnored::Only => Ignored::Only,
        RunIgnored::All => Ignored::Include,
    };
    Filter { names: common.filter.clone(), exact: common.exact, skip: common.skip.clone(), ignored }
}

/// The flags that go to cargo as they are.
fn cargo_arguments(common: &CommonArguments) -> Vec<String> {
    let cargo = &common.cargo;
    let mut arguments = Vec::new();
    let mut with_value = |flag: &str, value: &String| arguments.extend([flag.to_owned(), value.clone()]);
    cargo.features.iter().for_each(|features| with_value("--features", features));
    cargo.jobs.iter().for_each(|jobs| with_value("--jobs", jobs));
    cargo.config.iter().for_each(|config| with_value("--config", config));
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
