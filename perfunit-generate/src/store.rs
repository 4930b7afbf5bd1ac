//! Stored results of earlier generations, by a key of their inputs.

use perfunit_model::error::Result;
use perfunit_model::{Function, Generation, Sides};
use perfunit_system::cache::{self, KeyBuilder};
use std::path::{Path, PathBuf};

/// Number of generations kept.
const KEPT: usize = 20;
/// Version of the rules by which calls are generated and tried.
const RULES: &str = "9";

/// Folder of stored generations.
pub struct Store {
    folder: PathBuf,
}

/// Begins the key of a generation: the contents of both versions and the functions. The inputs of the builds are still
/// to be added.
pub fn key(contents: &Sides<String>, functions: &[Function]) -> KeyBuilder {
    let key = KeyBuilder::default().with(RULES).with(&contents.base).with(&contents.head);
    let functions = functions.iter().map(|function| format!("{}:{} {}", function.file, function.line, function.name));
    functions.fold(key, KeyBuilder::with)
}

impl Store {
    pub fn new(ours: &Path) -> Self {
        Self { folder: ours.join("generated") }
    }

    fn file(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.json"))
    }

    /// Loads the generation with this key. An unreadable file counts as missing.
    pub fn load(&self, key: &str) -> Result<Option<Generation>> {
        cache::load(&self.file(key))
    }

    pub fn save(&self, key: &str, generation: &Generation) -> Result<()> {
        cache::store(&self.file(key), generation, KEPT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::{NotGenerated, WithoutWorkload};
    use perfunit_system::fs;

    fn function(line: usize) -> Function {
        Function { package: "demo".to_owned(), file: "src/lib.rs".to_owned(), line, name: "f".to_owned() }
    }

    #[test]
    fn what_is_kept_is_found_by_all_that_it_depends_on() {
        let contents = Sides { base: "b".to_owned(), head: "h".to_owned() };
        let key = |contents: &Sides<String>, line| super::key(contents, &[function(line)]).finish();
        let own = key(&contents, 1);
        assert_ne!(own, key(&contents, 2));
        assert_ne!(own, key(&Sides { base: "h".to_owned(), head: "b".to_owned() }, 1));
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path());
        assert_eq!(store.load(&own).unwrap(), None);
        let because = NotGenerated::NoValue { of: "Secret".to_owned() };
        let without = vec![WithoutWorkload { function: function(1), because }];
        let generation = Generation { workloads: Vec::new(), without };
        store.save(&own, &generation).unwrap();
        assert_eq!(store.load(&own).unwrap(), Some(generation));
        fs::write(&store.file(&own), "{").unwrap();
        assert_eq!(store.load(&own).unwrap(), None);
    }
}
