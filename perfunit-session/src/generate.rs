//! `cargo perfunit generate`: generates calls for functions without a comparison.

use super::compare;
use super::generated_calls::{self, Ground, uncovered_functions};
use super::open::{Opened, open};
use super::options::Options;
use perfunit_build::Builder;
use perfunit_model::error::Result;
use perfunit_model::{Function, Generation, Sides, VersionName};
use perfunit_project::config::Rules;
use perfunit_project::git::{Repository, Request};
use perfunit_select::{Filter, select};
use perfunit_system::term::Terminal;

/// The functions to generate calls for.
#[derive(Clone)]
pub struct GenerateRequest {
    pub options: Options,
    /// Names of functions; empty for those that no test executes.
    pub names: Vec<String>,
    /// True for all functions, executed by tests or not.
    pub all: bool,
}

/// The result of `generate`.
pub struct Generating {
    pub versions: Sides<VersionName>,
    pub generation: Generation,
}

/// Generates calls for `cargo perfunit generate`.
pub fn generate(request: &GenerateRequest, terminal: Terminal) -> Result<Generating> {
    let request = &without_version(request)?;
    let GenerateRequest { options, .. } = request;
    generated_calls::check(options)?;
    compare::check(options)?;
    let opened = open(options, terminal, None)?;
    let functions = functions(&opened, request)?;
    let versions = opened.versions.names();
    if functions.is_empty() {
        return Ok(Generating { versions, generation: Generation::default() });
    }
    let generation = Ground::new(opened, options, &functions).generation(&functions)?;
    Ok(Generating { versions, generation })
}

/// Treats the first word as a function if it is not a version.
fn without_version(request: &GenerateRequest) -> Result<GenerateRequest> {
    let GenerateRequest { mut options, mut names, all } = request.clone();
    let repository = Repository::discover(&options.folder)?;
    if let Request::Against { base, .. } = &mut options.request
        && let Some(word) = base.take_if(|word| repository.has_nothing_like(word))
    {
        names.insert(0, word);
    }
    Ok(GenerateRequest { options, names, all })
}

fn functions(opened: &Opened, request: &GenerateRequest) -> Result<Vec<Function>> {
    let GenerateRequest { options, names, all } = request;
    let by_name = *all || !names.is_empty();
    let rules = Rules { default_filter: None, ..options.rules.clone() };
    let all_tests = by_name || options.all_tests;
    let options = Options { all_tests, filter: Filter::default(), rules, ..options.clone() };
    if !by_name {
        return uncovered_functions(opened, &options);
    }
    let Opened { context, versions, .. } = opened;
    let mut versions = versions.clone();
    let mut builder = Builder::open(context, &versions)?;
    let selected = select(&mut builder, &mut versions, &options.test_filter())?;
    perfunit_select::functions(&versions, &selected, names)
}
