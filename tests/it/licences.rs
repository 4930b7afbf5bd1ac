//! Dependencies have licences that allow use, modification and distribution together with our code: those in
//! `deny.toml` and no others.

use crate::support::repository_root;
use cargo_metadata::{CargoOpt, MetadataCommand, Package};
use spdx::{Expression, ParseMode};
use std::fs;

/// Has the licence CDDL, so it is used only with the feature for flame graphs.
const OPTIONAL: &str = "inferno";

/// Returns the allowed licences of dependencies, by their SPDX names.
fn allowed() -> Vec<String> {
    let text = fs::read_to_string(repository_root().join("deny.toml")).unwrap();
    let settings: toml::Table = text.parse().unwrap();
    let list = settings["licenses"]["allow"].as_array().unwrap();
    list.iter().map(|name| name.as_str().unwrap().to_owned()).collect()
}

/// Returns all packages of the workspace and its dependencies on this platform.
fn packages(features: Option<CargoOpt>) -> Vec<Package> {
    let mut command = MetadataCommand::new();
    command.current_dir(repository_root());
    command.other_options([
        "--locked".to_owned(),
        format!("--filter-platform={}-unknown-linux-gnu", std::env::consts::ARCH),
    ]);
    if let Some(features) = features {
        command.features(features);
    }
    let metadata = command.exec().unwrap();
    let nodes = metadata.resolve.as_ref().unwrap().nodes.iter();
    nodes.map(|node| metadata[&node.id].clone()).collect()
}

/// Returns the packages with a licence that is not allowed, and the licence.
fn others(packages: &[Package]) -> Vec<String> {
    let allowed = allowed();
    let may_be = |package: &&Package| {
        let Some(expression) = &package.license else { return false };
        let expression = Expression::parse_mode(expression, ParseMode::LAX)
            .unwrap_or_else(|error| panic!("{}: {error}", package.name));
        // One half of `A OR B` suffices.
        expression.evaluate(|requirement| allowed.contains(&requirement.to_string()))
    };
    let others = packages.iter().filter(|package| !may_be(package));
    others.map(|package| format!("{} ({})", package.name, package.license.as_deref().unwrap_or("none"))).collect()
}

#[test]
fn every_licence_is_permissive() {
    let packages = packages(None);
    assert!(packages.len() > 50, "only {} packages", packages.len());
    let others = others(&packages);
    assert!(others.is_empty(), "not allowed by deny.toml: {others:?}");
    assert!(!packages.iter().any(|package| package.name == OPTIONAL), "{OPTIONAL} without its feature");
}

#[test]
fn flamegraphs_bring_the_only_other_licence() {
    assert_eq!(others(&packages(Some(CargoOpt::AllFeatures))), [format!("{OPTIONAL} (CDDL-1.0)")]);
}
