//! What was found out about steps, in a file of `SQLite`: several processes may write it, and a crash leaves whole steps.
//!
//! The schema is documented in `docs/history.md`. Seconds of a step are those of its own pairs; nothing compares them
//! with another step's.

use crate::error::{Error, Result};
use crate::model::{Change, Mode, Skipped, Step, StepFigures, StepTest, TargetId, TargetKind, TestId, Verdict};
use rusqlite::{Connection, OptionalExtension as _, Row, TransactionBehavior, params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Changes with the schema.
const VERSION: u32 = 1;
/// How long to wait for another process.
const PATIENCE: Duration = Duration::from_mins(1);
const SCHEMA: &str = include_str!("schema.sql");

/// A step's place: a commit, what it is compared with, and everything else that its result depends on.
#[derive(Debug, Clone, Copy)]
pub struct Key<'a> {
    pub base: &'a str,
    pub head: &'a str,
    /// Names options, toolchain and machine.
    pub terms: &'a str,
}

/// The steps that are known.
pub struct Store {
    path: PathBuf,
    connection: Connection,
}

impl Store {
    /// Opens or makes the file. `project` names the repository; a store holds one.
    pub fn open(path: &Path, project: &str) -> Result<Self> {
        if let Some(folder) = path.parent() {
            crate::system::fs::create_dir_all(folder)?;
        }
        let failed = |error: rusqlite::Error| failed(path, &error);
        let connection = Connection::open(path).map_err(failed)?;
        connection.busy_timeout(PATIENCE).map_err(failed)?;
        // Readers do not wait for writers; the last step may be lost when the machine stops, never the file.
        connection.pragma_update(None, "journal_mode", "WAL").map_err(failed)?;
        connection.pragma_update(None, "foreign_keys", true).map_err(failed)?;
        let mut store = Self { path: path.to_owned(), connection };
        store.prepare(project)?;
        Ok(store)
    }

    fn prepare(&mut self, project: &str) -> Result<()> {
        let path = self.path.clone();
        let failed = |error: rusqlite::Error| failed(&path, &error);
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let version: u32 = transaction.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(failed)?;
        match version {
            0 => {
                transaction.execute_batch(SCHEMA).map_err(failed)?;
                transaction.pragma_update(None, "user_version", VERSION).map_err(failed)?;
                transaction.execute("INSERT INTO project VALUES (?1)", params![project]).map_err(failed)?;
            }
            VERSION => {
                let known: String =
                    transaction.query_row("SELECT beginning FROM project", [], |row| row.get(0)).map_err(failed)?;
                if known != project {
                    return Err(Error::usage(format!("{} is the history of another project", path.display()))
                        .hint("name another file with --store; each project has its own"));
                }
            }
            newer => {
                return Err(Error::usage(format!(
                    "{} has version {newer} of the schema, and this version of cargo-perfunit knows {VERSION}",
                    path.display()
                ))
                .hint("use the version of cargo-perfunit that wrote it, or name another file with --store"));
            }
        }
        transaction.commit().map_err(failed)
    }

    /// What is known of a step.
    pub fn step(&self, key: Key<'_>) -> Result<Option<Step>> {
        let found = self
            .connection
            .query_row(
                "SELECT id, found, selected, nothing_because, alpha, seconds FROM step
                 WHERE base = ?1 AND head = ?2 AND terms = ?3",
                params![key.base, key.head, key.terms],
                |row| {
                    let step = Step {
                        base: key.base.to_owned(),
                        found: row.get::<_, u32>(1)? as usize,
                        selected: row.get::<_, u32>(2)? as usize,
                        nothing_because: row.get(3)?,
                        tests: Vec::new(),
                        alpha: row.get(4)?,
                        seconds: row.get(5)?,
                    };
                    Ok((row.get::<_, i64>(0)?, step))
                },
            )
            .optional()
            .map_err(|error| self.failed(&error))?;
        let Some((id, mut step)) = found else { return Ok(None) };
        step.tests = self.tests(id).map_err(|error| self.failed(&error))?;
        Ok(Some(step))
    }

    fn tests(&self, step: i64) -> rusqlite::Result<Vec<StepTest>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT package, target_kind, target, name, verdict, reason, estimate, low, high, base_ns, head_ns, mode,
             function FROM test WHERE step = ?1 ORDER BY rowid",
        )?;
        statement.query_map([step], test)?.collect()
    }

    /// Keeps a step, whole or not at all.
    pub fn keep(&mut self, key: Key<'_>, step: &Step) -> Result<()> {
        let path = self.path.clone();
        self.insert(key, step).map_err(|error| failed(&path, &error))
    }

    fn insert(&mut self, key: Key<'_>, step: &Step) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have made it meanwhile: the first one stays.
        let new = transaction.execute(
            "INSERT OR IGNORE INTO step (base, head, terms, found, selected, nothing_because, alpha, seconds)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                key.base,
                key.head,
                key.terms,
                step.found as u32,
                step.selected as u32,
                step.nothing_because,
                step.alpha,
                step.seconds
            ],
        )?;
        if new == 1 {
            let id = transaction.last_insert_rowid();
            let mut statement = transaction.prepare_cached(
                "INSERT INTO test (step, package, target_kind, target, name, verdict, reason, estimate, low, high,
                 base_ns, head_ns, mode, function) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
            )?;
            for found in &step.tests {
                let (target, figures) = (&found.test.target, found.figures);
                statement.execute(params![
                    id,
                    target.package,
                    word(&target.kind),
                    target.name,
                    found.test.name,
                    word(&found.verdict),
                    found.reason,
                    figures.map(|figures| figures.change.estimate),
                    figures.map(|figures| figures.change.low),
                    figures.map(|figures| figures.change.high),
                    figures.map(|figures| figures.base_ns),
                    figures.map(|figures| figures.head_ns),
                    figures.map(|figures| word(&figures.mode)),
                    found.function,
                ])?;
            }
        }
        transaction.commit()
    }

    /// Why a commit cannot be compared, if that is known.
    pub fn skipped(&self, commit: &str, terms: &str) -> Result<Option<Skipped>> {
        let found: Option<String> = self
            .connection
            .query_row("SELECT why FROM skipped WHERE commit_id = ?1 AND terms = ?2", params![commit, terms], |row| {
                row.get(0)
            })
            .optional()
            .map_err(|error| self.failed(&error))?;
        let read = |json: String| serde_json::from_str(&json).map_err(|error| self.damaged(&error.to_string()));
        found.map(read).transpose()
    }

    pub fn skip(&mut self, commit: &str, terms: &str, why: &Skipped) -> Result<()> {
        let why = serde_json::to_string(why).map_err(|error| self.damaged(&error.to_string()))?;
        let kept =
            self.connection.execute("INSERT OR REPLACE INTO skipped VALUES (?1, ?2, ?3)", params![commit, terms, why]);
        kept.map(drop).map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &rusqlite::Error) -> Error {
        failed(&self.path, error)
    }

    fn damaged(&self, why: &str) -> Error {
        Error::setup(format!("the history {} is damaged: {why}", self.path.display()))
            .hint("remove the file; `cargo perfunit log` makes it again")
    }
}

fn failed(path: &Path, error: &rusqlite::Error) -> Error {
    let message = Error::setup(format!("cannot use the history {}: {error}", path.display()));
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase | rusqlite::ErrorCode::DatabaseCorrupt) => {
            message.hint("remove the file, or name another with --store")
        }
        Some(rusqlite::ErrorCode::DiskFull) => message.hint("free some disk space; what was kept stays valid"),
        Some(rusqlite::ErrorCode::DatabaseBusy) => message.hint("another process has been writing it for a minute"),
        _ => message.hint("choose a writable file with --store"),
    }
}

fn test(row: &Row<'_>) -> rusqlite::Result<StepTest> {
    let target = TargetId { package: row.get(0)?, kind: enumerated::<TargetKind>(row, 1)?, name: row.get(2)? };
    let estimate: Option<f64> = row.get(6)?;
    let figures = match estimate {
        Some(estimate) => Some(StepFigures {
            change: Change { estimate, low: row.get(7)?, high: row.get(8)? },
            base_ns: row.get(9)?,
            head_ns: row.get(10)?,
            mode: enumerated::<Mode>(row, 11)?,
        }),
        None => None,
    };
    Ok(StepTest {
        test: TestId { target, name: row.get(3)? },
        verdict: enumerated::<Verdict>(row, 4)?,
        reason: row.get(5)?,
        figures,
        function: row.get(12)?,
    })
}

/// A word of an enum as documents have it.
fn word<T: Serialize>(value: &T) -> Option<String> {
    serde_json::to_value(value).ok()?.as_str().map(str::to_owned)
}

fn enumerated<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let word: String = row.get(column)?;
    serde_json::from_value(serde_json::Value::String(word)).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::samples;

    fn key(head: &str) -> Key<'_> {
        Key { base: "a", head, terms: "t" }
    }

    #[test]
    fn what_is_kept_is_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("h.sqlite");
        let step = samples::step("a", &[("one", Verdict::Slower, 0.12), ("two", Verdict::Same, 0.0)]);
        let mut store = Store::open(&path, "p").unwrap();
        assert_eq!(store.step(key("b")).unwrap(), None);
        store.keep(key("b"), &step).unwrap();
        store.skip("c", "t", &Skipped::DoesNotBuild { error: "error: no".to_owned() }).unwrap();
        drop(store);
        let store = Store::open(&path, "p").unwrap();
        assert_eq!(store.step(key("b")).unwrap(), Some(step));
        assert_eq!(store.step(Key { terms: "u", ..key("b") }).unwrap(), None);
        assert_eq!(store.skipped("c", "t").unwrap(), Some(Skipped::DoesNotBuild { error: "error: no".to_owned() }));
        assert_eq!(store.skipped("b", "t").unwrap(), None);
    }

    #[test]
    fn of_two_processes_the_first_answer_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("h.sqlite");
        let (mut one, mut two) = (Store::open(&path, "p").unwrap(), Store::open(&path, "p").unwrap());
        let steps = [0.1, 0.2].map(|change| samples::step("a", &[("one", Verdict::Slower, change)]));
        one.keep(key("b"), &steps[0]).unwrap();
        two.keep(key("b"), &steps[1]).unwrap();
        assert_eq!(two.step(key("b")).unwrap().as_ref(), Some(&steps[0]));
    }

    #[test]
    fn foreign_newer_and_damaged_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("h.sqlite");
        let store = Store::open(&path, "p").unwrap();
        let message = |project| Store::open(&path, project).err().unwrap().to_string();
        assert!(message("q").contains("another project"), "{}", message("q"));
        store.connection.pragma_update(None, "user_version", 9).unwrap();
        assert!(message("p").contains("version 9 of the schema"), "{}", message("p"));
        drop(store);
        let damaged = folder.path().join("d.sqlite");
        std::fs::write(&damaged, "no database, but a text that is long enough to be looked at".repeat(20)).unwrap();
        let error = Store::open(&damaged, "p").err().unwrap().to_string();
        assert!(error.contains("not a database") && error.contains("--store"), "{error}");
    }
}
