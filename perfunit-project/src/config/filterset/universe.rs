//! The packages and test binaries that filterset expressions are evaluated against.

use super::problem::{self, KnownNames};
use guppy::graph::cargo::BuildPlatform;
use guppy::graph::{BuildTargetId, BuildTargetKind, PackageGraph};
use guppy::{CargoMetadata, PackageId};
use nextest_filtering::{
    BinaryQuery, CompiledExpr, EvalContext, Filterset, FiltersetKind, KnownGroups, ParseContext, TestQuery,
};
use nextest_metadata::{RustBinaryId, RustTestBinaryKind, TestCaseName};
use perfunit_model::error::{Error, Result};
use perfunit_model::{TargetId, TargetKind, TestId};

/// Package graph of the workspace, and the meaning of `default()`.
#[derive(Debug)]
pub struct Universe {
    graph: PackageGraph,
    default: CompiledExpr,
}

/// A parsed filterset expression.
#[derive(Debug, Clone)]
pub struct Expression {
    /// The text as written by the user.
    pub text: String,
    compiled: CompiledExpr,
}

/// Checks whether the expression uses `deps(..)` or `rdeps(..)`, which need the resolved dependency graph.
pub fn needs_dependencies(text: &str) -> bool {
    Filterset::needs_deps(text)
}

impl Universe {
    /// Parses the output of `cargo metadata`. Without resolved dependencies, `deps(..)` matches only the named package.
    pub fn new(metadata: &str) -> Result<Self> {
        let graph = CargoMetadata::parse_json(metadata).and_then(CargoMetadata::build_graph);
        let graph = graph.map_err(|error| Error::setup(format!("cannot read the package graph: {error}")))?;
        Ok(Self { graph, default: CompiledExpr::ALL })
    }

    /// Parses an expression from the command line or the configuration. `place` says where it is written.
    pub fn parse(&self, text: &str, place: &str) -> Result<Expression> {
        // This kind rejects `group(..)`, which would need nextest's configuration.
        self.parse_as(text, place, FiltersetKind::OverrideFilter)
    }

    /// Parses a `default-filter`, and makes it the meaning of `default()`.
    pub fn parse_default(&mut self, text: &str, place: &str) -> Result<Expression> {
        let expression = self.parse_as(text, place, FiltersetKind::DefaultFilter)?;
        self.default = expression.compiled.clone();
        Ok(expression)
    }

    fn parse_as(&self, text: &str, place: &str, kind: FiltersetKind) -> Result<Expression> {
        let context = ParseContext::new(&self.graph);
        match Filterset::parse(text.to_owned(), &context, kind, &KnownGroups::Unavailable) {
            Ok(filterset) => Ok(Expression { text: text.to_owned(), compiled: filterset.compiled }),
            Err(errors) => Err(problem::problem(place, &errors, &self.known_names())),
        }
    }

    /// Checks whether the expression matches the tests of a target. Returns `None` if that depends on the test.
    pub fn takes_target(&self, expression: &Expression, target: &TargetId) -> Option<bool> {
        let of_tests = self.takes_kind(expression, target, Tests::Written);
        // Only libraries and binaries have generated workloads.
        let has_calls = matches!(target.kind, TargetKind::Lib | TargetKind::Bin);
        if has_calls && self.takes_kind(expression, target, Tests::Generated) != of_tests { None } else { of_tests }
    }

    fn takes_kind(&self, expression: &Expression, target: &TargetId, tests: Tests) -> Option<bool> {
        let binary = self.binary(target, tests);
        expression.compiled.matches_binary(&binary.query(target), &self.context())
    }

    /// Checks whether the expression may match generated workloads of the target, but none of its tests.
    pub fn is_about_calls(&self, expression: &Expression, target: &TargetId) -> bool {
        self.takes_kind(expression, target, Tests::Written) == Some(false)
            && self.takes_target(expression, target).is_none()
    }

    /// Checks whether the expression matches a test.
    pub fn takes(&self, expression: &Expression, test: &TestId) -> bool {
        let tests = if test.is_generated() { Tests::Generated } else { Tests::Written };
        let binary = self.binary(&test.target, tests);
        let test_name = TestCaseName::new(&test.name);
        let query = TestQuery { binary_query: binary.query(&test.target), test_name: &test_name };
        expression.compiled.matches_test(&query, &self.context())
    }

    fn context(&self) -> EvalContext<'_> {
        EvalContext { default_filter: &self.default }
    }

    fn binary(&self, target: &TargetId, tests: Tests) -> Binary {
        let package = self.graph.workspace().member_by_name(&target.package).ok();
        let library = package.and_then(|package| package.build_target(&BuildTargetId::Library));
        let is_macro = target.kind == TargetKind::Lib
            && library.is_some_and(|library| matches!(library.kind(), BuildTargetKind::ProcMacro));
        let kind = match target.kind {
            TargetKind::Lib if is_macro => RustTestBinaryKind::PROC_MACRO,
            TargetKind::Lib => RustTestBinaryKind::LIB,
            TargetKind::Bin => RustTestBinaryKind::BIN,
            TargetKind::Test => RustTestBinaryKind::TEST,
            TargetKind::Example => RustTestBinaryKind::EXAMPLE,
            TargetKind::Bench | TargetKind::LibBench | TargetKind::BinBench => RustTestBinaryKind::BENCH,
            TargetKind::Doctest => RustTestBinaryKind::new(target.kind.to_string()),
        };
        // Generated workloads keep package and name of their target.
        let shown = if tests == Tests::Generated { RustTestBinaryKind::new("generated") } else { kind.clone() };
        Binary {
            // The graph lacks the package of a target that only base has. Predicates on packages do not match it; those
            // on names can.
            package: package.map_or_else(|| PackageId::new(target.package.clone()), |package| package.id().clone()),
            id: RustBinaryId::from_parts(&target.package, &kind, &target.name),
            kind: shown,
            platform: if is_macro { BuildPlatform::Host } else { BuildPlatform::Target },
        }
    }

    /// Collects the names that an expression can refer to.
    fn known_names(&self) -> KnownNames {
        let mut known = KnownNames::default();
        for package in self.graph.resolve_workspace().packages(guppy::graph::DependencyDirection::Forward) {
            known.packages.insert(package.name().to_owned());
            for target in package.build_targets() {
                let kind = match target.id() {
                    BuildTargetId::Library => RustTestBinaryKind::LIB,
                    BuildTargetId::Binary(_) => RustTestBinaryKind::BIN,
                    BuildTargetId::Test(_) => RustTestBinaryKind::TEST,
                    BuildTargetId::Example(_) => RustTestBinaryKind::EXAMPLE,
                    BuildTargetId::Benchmark(_) => RustTestBinaryKind::BENCH,
                    _ => continue,
                };
                known.binary_ids.insert(RustBinaryId::from_parts(package.name(), &kind, target.name()).to_string());
                known.binaries.insert(target.name().to_owned());
            }
        }
        known
    }
}

/// Origin of tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tests {
    Written,
    /// Generated workloads.
    Generated,
}

/// Facts about a test binary that an expression can query.
struct Binary {
    package: PackageId,
    id: RustBinaryId,
    kind: RustTestBinaryKind,
    platform: BuildPlatform,
}

impl Binary {
    fn query<'a>(&'a self, target: &'a TargetId) -> BinaryQuery<'a> {
        BinaryQuery {
            package_id: &self.package,
            binary_id: &self.id,
            binary_name: &target.name,
            kind: &self.kind,
            platform: self.platform,
        }
    }
}

#[cfg(test)]
mod tests;
