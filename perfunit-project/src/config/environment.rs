//! Variables of the environment, read once.

use super::settings::{Layer, variable_of};
use perfunit_model::error::{Error, Result};
use perfunit_model::suggest;

const PREFIX: &str = "PERFUNIT_";
/// Variables of ours that are no settings of the configuration.
const OTHERS: [&str; 5] = ["PERFUNIT_BASE", "PERFUNIT_CACHE_DIR", "PERFUNIT_LOG", "PERFUNIT_PROFILE", "PERFUNIT_SKIP"];

/// The settings of our environment. An empty variable counts as unset.
pub fn layer() -> Result<Layer> {
    Layer::of_environment(&|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
}

/// A warning for each variable that looks like ours and is not; an error if it is a misspelled one.
pub fn unknown() -> Result<Vec<String>> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    names.filter_map(|name| check(&name).transpose()).collect()
}

fn check(name: &str) -> Result<Option<String>> {
    let settings = Layer::default().settled().rows().into_iter().map(|row| variable_of(row.key));
    let known: Vec<String> = settings.chain(OTHERS.map(str::to_owned)).collect();
    if !name.starts_with(PREFIX) || known.iter().any(|known| known == name) {
        return Ok(None);
    }
    match suggest::hint(&suggest::near(name, known.iter().map(String::as_str), "\0")) {
        Some(near) => Err(Error::usage(format!("unknown environment variable {name}")).hint(near)),
        None => Ok(Some(format!("unknown environment variable {name}: it has no effect"))),
    }
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
}
