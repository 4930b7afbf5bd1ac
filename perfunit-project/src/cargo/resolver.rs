//! Simulates cargo's feature resolution in this process, much faster than `cargo tree`.
//!
//! The simulation uses guppy, which ignores unstable options and the resolver's configuration files. It also omits the
//! build dependencies of packages without a build script, which `cargo tree` lists (`pest_meta` 2.7 has some). Cargo
//! must therefore confirm every conclusion.

use super::Cargo;
use super::load::{Resolution, package_graph};
use guppy::CargoMetadata;
use guppy::graph::cargo::{CargoOptions, CargoResolverVersion};
use guppy::graph::feature::{FeatureId, FeatureLabel, StandardFeatures, feature_id_filter, named_feature_filter};
use guppy::graph::{DependencyDirection, PackageGraph, PackageMetadata};
use guppy::platform::{Platform, TargetFeatures};
use perfunit_model::error::{Error, Result};
use perfunit_system::fs;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use toml::{Table, Value};

/// Packages as `name vVERSION`, each with its enabled features, in the format of `cargo tree`.
pub type Features = BTreeSet<(String, String)>;

/// Resolver of the features that cargo enables for a set of packages.
pub struct FeatureResolver {
    graph: PackageGraph,
    version: CargoResolverVersion,
    platform: Arc<Platform>,
    base: StandardFeatures,
    /// Features that the user requested: `name` or `package/name`.
    features: Vec<String>,
}

impl FeatureResolver {
    /// Resolves the dependencies of a workspace. Its manifest must be in the shadow tree; `arguments` are the user's
    /// arguments for cargo.
    pub fn open(cargo: &Cargo, manifest: &Path, arguments: &[String]) -> Result<Self> {
        let failed = |error: &dyn std::fmt::Display| Error::setup(format!("cannot resolve features: {error}"));
        let metadata = package_graph(cargo, manifest, Resolution::Full)?;
        let graph = CargoMetadata::parse_json(&metadata).and_then(CargoMetadata::build_graph);
        let graph = graph.map_err(|error| failed(&error))?;
        let platform = Platform::new(cargo.host.clone(), TargetFeatures::Unknown).map_err(|error| failed(&error))?;
        let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
        let base = match (has("--all-features"), has("--no-default-features")) {
            (true, _) => StandardFeatures::All,
            (false, true) => StandardFeatures::None,
            (false, false) => StandardFeatures::Default,
        };
        let features = arguments.windows(2).filter(|pair| pair[0] == "--features");
        let features = features.flat_map(|pair| pair[1].split([' ', ','])).map(str::to_owned).collect();
        let root = fs::read(&graph.workspace().root().join("Cargo.toml").into_std_path_buf())?;
        let version = resolver_version(&String::from_utf8_lossy(&root).parse().unwrap_or_default());
        Ok(Self { graph, version, platform: Arc::new(platform), base, features })
    }

    /// Returns the features that `cargo test` enables for these members.
    pub fn resolve(&self, packages: &BTreeSet<&str>) -> Result<Features> {
        let failed = |error: guppy::Error| Error::setup(format!("cannot resolve features: {error}"));
        let workspace = self.graph.workspace();
        let members = packages.iter().map(|name| workspace.member_by_name(name));
        let members = members.collect::<std::result::Result<Vec<_>, _>>().map_err(failed)?;
        let (of_package, of_all): (Vec<&str>, Vec<&str>) =
            self.features.iter().map(String::as_str).partition(|feature| feature.contains('/'));
        let of_package = of_package.iter().filter_map(|feature| {
            let (package, feature) = feature.split_once('/')?;
            let package = members.iter().find(|member| member.name() == package)?;
            Some(FeatureId::new(package.id(), FeatureLabel::Named(feature)))
        });
        let filter = feature_id_filter(named_feature_filter(self.base, of_all), of_package.collect::<Vec<_>>());
        let initials = self.graph.resolve_ids(members.iter().map(PackageMetadata::id)).map_err(failed)?;
        let mut options = CargoOptions::new();
        options.set_resolver(self.version).set_include_dev(true).set_platform(Arc::clone(&self.platform));
        let set = initials.to_feature_set(filter).into_cargo_set(&options).map_err(failed)?;
        let lists = set.all_features().into_iter().flat_map(|(_, features)| {
            features.packages_with_features(DependencyDirection::Forward).collect::<Vec<_>>()
        });
        Ok(lists
            .map(|list| {
                let enabled: BTreeSet<&str> = list.named_features().collect();
                let package = format!("{} v{}", list.package().name(), list.package().version());
                (package, enabled.into_iter().collect::<Vec<_>>().join(","))
            })
            .collect())
    }
}

/// Returns the resolver version that the root manifest chooses, by its `resolver` key or its edition.
fn resolver_version(manifest: &Table) -> CargoResolverVersion {
    let of = |table: &str| manifest.get(table).and_then(Value::as_table);
    let chosen = |table: &str| of(table).and_then(|table| table.get("resolver")).and_then(Value::as_str);
    let inherited = || of("workspace").and_then(|workspace| workspace.get("package")?.get("edition")?.as_str());
    let edition = of("package").and_then(|package| package.get("edition"));
    let edition = edition.and_then(|edition| edition.as_str().or_else(inherited));
    match (chosen("workspace").or_else(|| chosen("package")), edition) {
        (Some("1"), _) | (None, None | Some("2015" | "2018")) => CargoResolverVersion::V1,
        // Version 3 enables the same features as version 2.
        _ => CargoResolverVersion::V2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_manifest_or_its_edition_chooses_the_resolver() {
        let check = |manifest: &str, expected| {
            assert_eq!(resolver_version(&manifest.parse().unwrap()), expected, "{manifest}");
        };
        check("[workspace]\n", CargoResolverVersion::V1);
        check("[workspace]\nresolver = \"2\"\n", CargoResolverVersion::V2);
        check("[workspace]\nresolver = \"3\"\n", CargoResolverVersion::V2);
        check("[package]\nedition = \"2018\"\n", CargoResolverVersion::V1);
        check("[package]\nedition = \"2024\"\n", CargoResolverVersion::V2);
        check("[package]\nedition = \"2021\"\nresolver = \"1\"\n", CargoResolverVersion::V1);
        let inherited = "[workspace.package]\nedition = \"2021\"\n[package]\nedition.workspace = true\n";
        check(inherited, CargoResolverVersion::V2);
    }
}
