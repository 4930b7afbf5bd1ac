//! Configuration layers that are read from outside: environment variables and `.config/perfunit.toml`.

use super::keys;
use super::keys::{ALL_KEYS, Tables};
use super::settings::{Layer, variable_of};
use super::source::{Source, position};
use perfunit_model::error::{Error, Result};
use perfunit_model::suggest;
use std::ops::Range;

const PREFIX: &str = "PERFUNIT_";
/// Our variables that are not settings of the configuration.
const OTHERS: [&str; 6] =
    ["PERFUNIT_BASE", "PERFUNIT_CACHE_DIR", "PERFUNIT_LAYOUT", "PERFUNIT_LOG", "PERFUNIT_PROFILE", "PERFUNIT_SKIP"];

/// Reads the settings from the environment. An empty variable counts as unset.
pub fn layer() -> Result<Layer> {
    Layer::of_environment(&|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
}

/// Checks the variables with our prefix. Returns a warning for each unknown one, and an error if one looks misspelled.
pub fn unknown() -> Result<Vec<String>> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    names.filter_map(|name| check(&name).transpose()).collect()
}

fn check(name: &str) -> Result<Option<String>> {
    let settings = Layer::default().fill_defaults().rows().into_iter().map(|row| variable_of(row.key));
    let known: Vec<String> = settings.chain(OTHERS.map(str::to_owned)).collect();
    if !name.starts_with(PREFIX) || known.iter().any(|known| known == name) {
        return Ok(None);
    }
    match suggest::hint(&suggest::near(name, known.iter().map(String::as_str), "\0")) {
        Some(near) => Err(Error::usage(format!("unknown environment variable {name}")).hint(near)),
        None => Ok(Some(format!("unknown environment variable {name}: it has no effect"))),
    }
}

/// A parsed configuration file.
#[derive(Debug, Default)]
pub struct File {
    /// Path for messages.
    pub path: String,
    /// Parsed content.
    pub tables: Tables,
    text: String,
}

impl File {
    /// Parses the text of the file at this path.
    pub fn read(path: &str, text: &str) -> Result<Self> {
        let mut ignored = Vec::new();
        let tables = toml::Deserializer::parse(text)
            .and_then(|deserializer| serde_ignored::deserialize(deserializer, |key| ignored.push(keys::steps(&key))));
        let tables = tables.map_err(|error| problem(path, text, &error, ALL_KEYS))?;
        keys::refuse(path, text, &ignored)?;
        Ok(Self { path: path.to_owned(), tables, text: text.to_owned() })
    }

    /// Returns the file and line of a span.
    pub fn place(&self, span: &Range<usize>) -> Source {
        Source::File { path: self.path.clone(), line: position(&self.text, span.start).0 }
    }
}

/// Builds an error for a TOML problem, with its line.
pub fn problem(path: &str, text: &str, error: &toml::de::Error, hint: &str) -> Error {
    let (line, column) = position(text, error.span().map_or(0, |span| span.start));
    let line_of_text = text.lines().nth(line - 1).unwrap_or_default().trim_end();
    let what = error.message().lines().collect::<Vec<_>>().join(", ");
    Error::usage(format!("{path}:{line}:{column}: {what}\n    {line_of_text}")).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelled_variable_is_an_error_and_a_strange_one_a_warning() {
        for known in ["PERFUNIT_THRESHOLD", "PERFUNIT_PER_TEST_BUDGET", "PERFUNIT_SKIP", "PATH", "OTHER_THRESHOLD"] {
            assert_eq!(check(known).unwrap(), None, "{known}");
        }
        let error = check("PERFUNIT_TRESHOLD").unwrap_err().to_string();
        assert!(error.contains("unknown environment variable PERFUNIT_TRESHOLD"), "{error}");
        assert!(error.contains("did you mean PERFUNIT_THRESHOLD?"), "{error}");
        let warning = check("PERFUNIT_COLOUR_OF_THE_SKY").unwrap().unwrap();
        assert!(warning.contains("PERFUNIT_COLOUR_OF_THE_SKY"), "{warning}");
    }

    #[track_caller]
    fn check_refusal(text: &str, words: &[&str]) {
        let error = File::read(".config/perfunit.toml", text).unwrap_err().to_string();
        let missing: Vec<_> = ["hint: "].iter().chain(words).filter(|word| !error.contains(**word)).collect();
        assert!(missing.is_empty(), "without {missing:?}:\n{error}");
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        check_refusal("[profile.default\n", &[".config/perfunit.toml:1:"]);
        check_refusal(
            "[profile.default]\nthreshold = \"200%\"\n",
            &["toml:2:13: the change `200%` must be", "threshold = \"200%\""],
        );
        check_refusal("[profile.ci]\n\nthreshold = true\n", &["toml:3:13", "expected a change like \"2%\" or 0.02"]);
        check_refusal("[profile.ci]\nbudget = \"1 parsec\"\n", &["toml:2:10", "unknown unit `parsec`"]);
        check_refusal("[profile.ci]\nmetrics = [\"tme\"]\n", &["toml:2:", "did you mean time?"]);
        check_refusal("[profile.ci]\nmetrics = []\n", &["toml:2:", "needs at least one metric"]);
        check_refusal("[profile.ci]\nexplain = \"alwys\"\n", &["toml:2:11", "did you mean always?"]);
        check_refusal("[profile.ci]\ndeny = [\"slower\"]\n", &["toml:2:", "expected one of inconclusive"]);
        check_refusal("[[skip]]\nfilter = \"all()\"\n", &["toml:1:1", "missing field `reason`"]);
        check_refusal("[profile.ci]\ntimeout = \"1s\"\ntimeout = \"2s\"\n", &["toml:3:1", "duplicate key"]);
    }

    #[test]
    fn values_are_words_or_numbers() {
        let text =
            "[profile.a]\nthreshold = 0.05\ntimeout = 3\nbudget = \"none\"\nmetrics = [\"allocations\", \"time\"]\n";
        let file = File::read("x.toml", text).unwrap();
        let layer = super::super::settings::Layer::of_table(&file.tables.profile["a"], &|span| file.place(&span));
        let rows: Vec<_> = layer
            .fill_defaults()
            .rows()
            .into_iter()
            .map(|row| format!("{} {} {}", row.key, row.value, row.from))
            .collect();
        for row in [
            "threshold 5% x.toml:2",
            "timeout 3s x.toml:3",
            "budget none x.toml:4",
            "metrics time,allocations x.toml:5",
        ] {
            assert!(rows.iter().any(|found| found == row), "{rows:#?}");
        }
    }
}
