//! Finds the configuration file, selects the profile and merges the layers.

use super::layers::{self, File};
use super::rules::{Override, Rules};
use super::settings::{Layer, Settings};
use super::source::Source;
use super::steps::{self, Step};
use super::{built_in, ratchet};
use crate::cargo::{self, Cargo};
use perfunit_model::error::{Error, Result};
use perfunit_model::suggest;
use perfunit_model::{AcceptedIn, AcceptedVersion};
use perfunit_system::date;
use perfunit_system::fs;
use std::collections::BTreeSet;
use std::path::Path;

/// Path of the file, relative to the workspace's root.
const PATH: &str = ".config/perfunit.toml";

/// The configuration of a workspace, before a profile is selected.
#[derive(Debug, Default)]
pub struct Configuration {
    file: Option<File>,
    /// Content of the project's ratchet file, or why it cannot be read. Only commands that use the ratchet need it.
    accepted: Option<Result<AcceptedVersion>>,
    /// Setup scripts of nextest's configuration.
    scripts: Vec<Step>,
    warnings: Vec<String>,
}

/// The configuration with a profile selected and all values resolved.
#[derive(Debug, Clone)]
pub struct Resolved {
    pub profile: String,
    /// Path of the file, if there is one.
    pub file: Option<String>,
    pub settings: Settings,
    /// Settings for some tests and files.
    pub rules: Rules,
    /// Content of the project's ratchet file, or why it cannot be read.
    pub accepted: Option<Result<AcceptedVersion>>,
    /// Warnings to show to the user.
    pub warnings: Vec<String>,
}

impl Configuration {
    /// Reads the named file, or else the file of the workspace that `folder` belongs to, if it exists.
    pub fn find(folder: &Path, manifest: Option<&Path>, named: Option<&Path>) -> Result<Self> {
        let nearest = |path: &str| folder.ancestors().find(|folder| folder.join(path).is_file());
        // Only cargo knows the workspace's root. Skip the call if no folder above has a file.
        let stray = nearest(PATH).filter(|_| named.is_none());
        let cargo = || Cargo::find(folder);
        let root = match stray.or_else(|| nearest(ratchet::PATH)).or_else(|| nearest(steps::NEXTEST)) {
            Some(_) => Some(cargo::locate(&cargo()?, folder, manifest)?.workspace_root),
            None => None,
        };
        let accepted = root.as_deref().and_then(|root| ratchet::read_accepted(root).transpose());
        let scripts = match root.as_deref().map(|root| fs::read_if_exists(&root.join(steps::NEXTEST))).transpose()? {
            Some(Some(text)) => steps::nextest_scripts(utf8(steps::NEXTEST, &text)?, &|| Ok(cargo()?.host))?,
            _ => Vec::new(),
        };
        if let Some(path) = named {
            let text = fs::read_if_exists(path)?
                .ok_or_else(|| Error::usage(format!("configuration file not found: {}", path.display())))?;
            let file = Some(read(&path.display().to_string(), &text)?);
            return Ok(Self { file, accepted, scripts, warnings: Vec::new() });
        }
        let (Some(nearest), Some(root)) = (stray, root) else {
            return Ok(Self { accepted, scripts, ..Self::default() });
        };
        let text = fs::read_if_exists(&root.join(PATH))?;
        let stray = nearest.join(PATH);
        let warnings = (nearest != root && nearest.starts_with(&root)).then(|| {
            let expected = root.join(PATH);
            format!("{} is ignored: the workspace's configuration is {}", stray.display(), expected.display())
        });
        let file = text.map(|text| read(PATH, &text)).transpose()?;
        Ok(Self { file, accepted, scripts, warnings: warnings.into_iter().collect() })
    }

    /// Resolves all settings. Precedence: command line, environment, selected profile, default profile; in each profile
    /// the file comes before the built-in values.
    pub fn resolve(&self, profile: Option<&str>, typed: Layer) -> Result<Resolved> {
        let mut resolved = self.resolve_with(profile, typed, layers::layer()?)?;
        resolved.drop_expired(&date::today());
        resolved.warnings.extend(layers::unknown()?);
        Ok(resolved)
    }

    fn resolve_with(&self, profile: Option<&str>, typed: Layer, environment: Layer) -> Result<Resolved> {
        let profile = profile.unwrap_or("default");
        self.check_profile(profile)?;
        let layers = self.of_file(profile).or(built_in::layer(profile)).or(self.of_file("default"));
        let accepted = self.accepted.as_ref().and_then(|accepted| accepted.as_ref().ok());
        let layers = layers.or(accepted.map(ratchet::layer).unwrap_or_default());
        let settings = typed.or(environment).or(layers).fill_defaults();
        let rules = self.rules(profile, &settings)?;
        Ok(Resolved {
            profile: profile.to_owned(),
            file: self.file.as_ref().map(|file| file.path.clone()),
            settings,
            rules,
            accepted: self.accepted.clone(),
            warnings: self.warnings.clone(),
        })
    }

    fn check_profile(&self, profile: &str) -> Result<()> {
        let of_file = self.file.iter().flat_map(|file| file.tables.profile.keys());
        let known: BTreeSet<&str> = of_file.map(String::as_str).chain(built_in::NAMES).collect();
        if known.contains(profile) {
            return Ok(());
        }
        let near = suggest::hint(&suggest::near(profile, known.iter().copied(), "\0"));
        let all = || format!("the profiles are {}", known.iter().copied().collect::<Vec<_>>().join(", "));
        Err(Error::usage(format!("unknown profile `{profile}`")).hint(near.unwrap_or_else(all)))
    }

    fn of_file(&self, profile: &str) -> Layer {
        let file = self.file.as_ref();
        let table = file.and_then(|file| Some((file, file.tables.profile.get(profile)?)));
        table.map_or_else(Layer::default, |(file, table)| Layer::of_table(table, &|span| file.place(&span)))
    }

    fn rules(&self, profile: &str, settings: &Settings) -> Result<Rules> {
        let typed = |from: &Source| matches!(from, Source::CommandLine | Source::Environment { .. });
        let mut rules = Rules { typed_threshold: typed(&settings.threshold.from), ..Rules::default() };
        if !matches!(settings.default_filter.from, Source::BuiltIn { .. }) {
            rules.default_filter = Some(settings.default_filter.clone());
        }
        let Some(file) = &self.file else {
            rules.steps.clone_from(&self.scripts);
            return Ok(rules);
        };
        let place = |span| file.place(&span);
        let profiles: BTreeSet<&str> = [profile, "default"].into();
        // The selected profile comes first, because the first match wins.
        let mut names: Vec<&str> = profiles.into_iter().collect();
        names.sort_by_key(|name| *name != profile);
        for table in names.into_iter().filter_map(|name| file.tables.profile.get(name)) {
            let overrides: Result<Vec<Override>> =
                table.overrides.iter().map(|table| table.validate(settings, &place)).collect();
            rules.overrides.extend(overrides?);
        }
        rules.skips = file.tables.skip.iter().map(|table| table.validate(&place)).collect::<Result<_>>()?;
        rules.acceptances = file.tables.accept.iter().map(|table| table.validate(&place)).collect::<Result<_>>()?;
        rules.steps = file.tables.prepare.iter().map(|table| table.validate(&place)).collect::<Result<_>>()?;
        rules.steps.extend(self.scripts.iter().cloned());
        rules.data = file.tables.data.iter().map(|table| table.validate(&place)).collect::<Result<_>>()?;
        Ok(rules)
    }
}

impl Resolved {
    /// Drops accepted slowdowns whose last day is over, with a warning for each.
    fn drop_expired(&mut self, today: &str) {
        let warnings = &mut self.warnings;
        self.rules.acceptances.retain(|acceptance| match &acceptance.from {
            AcceptedIn::Configuration { place, until } if until.as_str() < today => {
                let name = &acceptance.name;
                warnings
                    .push(format!("{place}: the slowdown of `{name}` was accepted until {until}: remove the entry"));
                false
            }
            _ => true,
        });
    }
}

fn read(path: &str, text: &[u8]) -> Result<File> {
    File::read(path, utf8(path, text)?)
}

fn utf8<'a>(path: &str, text: &'a [u8]) -> Result<&'a str> {
    std::str::from_utf8(text).map_err(|error| {
        let line = text[..error.valid_up_to()].split(|byte| *byte == b'\n').count();
        Error::usage(format!("{path}:{line}: not valid UTF-8")).hint("save the file as UTF-8")
    })
}

#[cfg(test)]
mod tests;
