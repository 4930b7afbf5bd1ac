//! What was found out about steps, in a file of `SQLite`: several processes may write it, and a crash leaves whole steps.
//!
//! The schema is documented in `docs/commands/log.md`. Seconds of a step are those of its own pairs; nothing compares them
//! with another step's.

use super::rows::{self, Key, SkippedRow};
use perfunit_model::error::{Error, Result};
use perfunit_model::{Joined, Skipped, Step};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _, TransactionBehavior, params};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Changes with the schema.
const VERSION: u32 = 5;
/// How long to wait for another process.
const PATIENCE: Duration = Duration::from_mins(1);
const SCHEMA: &str = include_str!("schema.sql");

/// The steps that are known.
pub struct Store {
    path: PathBuf,
    connection: Connection,
}

impl Store {
    /// Opens or makes the file. `project` names the repository; a store holds one.
    pub fn open(path: &Path, project: &str) -> Result<Self> {
        if let Some(folder) = path.parent() {
            perfunit_system::fs::create_dir_all(folder)?;
        }
        let failed = |error: rusqlite::Error| failed(path, &error);
        let connection = Connection::open(path).map_err(failed)?;
        connection.busy_timeout(PATIENCE).map_err(failed)?;
        // Readers do not wait for writers; the last step may be lost when the machine stops, never the file.
        write_ahead(&connection).map_err(failed)?;
        connection.pragma_update(None, "foreign_keys", true).map_err(failed)?;
        let mut store = Self { path: path.to_owned(), connection };
        store.prepare(project)?;
        Ok(store)
    }

    fn prepare(&mut self, project: &str) -> Result<()> {
        let path = self.path.clone();
        let failed = |error: rusqlite::Error| failed(&path, &error);
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        if version(&transaction).map_err(failed)? == 0 {
            transaction.execute_batch(SCHEMA).map_err(failed)?;
            transaction.pragma_update(None, "user_version", VERSION).map_err(failed)?;
            transaction.execute("INSERT INTO project VALUES (?1)", params![project]).map_err(failed)?;
        }
        check(&transaction, &path, project)
            .map_err(|error| error.hint("name another file with --store; each project has its own"))?;
        transaction.commit().map_err(failed)
    }

    /// What is known of a step: as it was measured on this machine, else on another one.
    pub fn step(&self, key: Key<'_>) -> Result<Option<Step>> {
        rows::find(&self.connection, key).map_err(|error| self.failed(&error))
    }

    /// Keeps a step, whole or not at all. Of two answers that with the smaller error rate stays, or else the first.
    pub fn keep(&mut self, key: Key<'_>, step: &Step) -> Result<()> {
        let path = self.path.clone();
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let kept = transaction.and_then(|transaction| {
            let Key { base, head, terms, machine } = key;
            transaction.execute(
                "DELETE FROM step WHERE base = ?1 AND head = ?2 AND terms = ?3 AND machine = ?4 AND alpha > ?5",
                params![base, head, terms, machine, step.alpha],
            )?;
            rows::insert(&transaction, key, step)?;
            transaction.commit()
        });
        kept.map_err(|error| failed(&path, &error))
    }

    /// Why a commit cannot be compared, if that is known of this machine, else of another one.
    pub fn skipped(&self, commit: &str, terms: &str, machine: &str) -> Result<Option<Skipped>> {
        let found: Option<String> = self
            .connection
            .query_row(
                "SELECT why FROM skipped WHERE commit_id = ?1 AND terms = ?2 ORDER BY machine = ?3 DESC, rowid LIMIT 1",
                params![commit, terms, machine],
                |row| row.get(0),
            )
            .optional()
            .map_err(|error| self.failed(&error))?;
        let read = |json: String| serde_json::from_str(&json).map_err(|error| self.damaged(&error.to_string()));
        found.map(read).transpose()
    }

    pub fn skip(&mut self, commit: &str, terms: &str, machine: &str, why: &Skipped) -> Result<()> {
        let why = serde_json::to_string(why).map_err(|error| self.damaged(&error.to_string()))?;
        let [commit, terms, machine] = [commit, terms, machine].map(str::to_owned);
        let kept = SkippedRow { commit, terms, machine, why }.insert(&self.connection);
        kept.map(drop).map_err(|error| self.failed(&error))
    }

    /// Takes over what another file of the same project has, all of it or nothing. What is here stays.
    pub fn join(&mut self, other: &Path, project: &str, terms: &str) -> Result<Joined> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let unreadable = |error: rusqlite::Error| {
            Error::usage(format!("cannot read the history {}: {error}", other.display()))
                .hint("name a file that `cargo perfunit log --export` or --store wrote")
        };
        let theirs = Connection::open_with_flags(other, flags).map_err(unreadable)?;
        match version(&theirs).map_err(unreadable)? {
            0 => return Err(unreadable(rusqlite::Error::QueryReturnedNoRows)),
            _ => check(&theirs, other, project)
                .map_err(|error| error.hint("join files of the same repository and version of cargo-perfunit"))?,
        }
        let path = self.path.clone();
        let failed = |error: rusqlite::Error| failed(&path, &error);
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let mut joined = Joined::default();
        let known = rows::all_steps(&theirs).map_err(unreadable)?;
        for (key, step) in &known {
            joined.usable += usize::from(key.terms == terms);
            let is_new = rows::insert(&transaction, key.borrowed(), step).map_err(failed)?;
            let here = if is_new { None } else { rows::find(&transaction, key.borrowed()).map_err(failed)? };
            joined.count(is_new, here.as_ref() == Some(step));
        }
        for skipped in rows::all_skipped(&theirs).map_err(unreadable)? {
            joined.usable += usize::from(skipped.terms == terms);
            let here = skipped.insert(&transaction).map_err(failed)?;
            joined.count(here.is_none(), here.as_ref() == Some(&skipped.why));
        }
        transaction.commit().map_err(failed)?;
        Ok(joined)
    }

    /// Writes all of it to another file, which is replaced at the end.
    pub fn export(&self, file: &Path) -> Result<()> {
        let draft = perfunit_system::fs::draft(file)?;
        let name = draft.path().to_string_lossy();
        self.connection.execute("VACUUM INTO ?1", params![name]).map_err(|error| {
            Error::setup(format!("cannot write the history to {}: {error}", file.display()))
                .hint("choose a place with enough room for --export")
        })?;
        perfunit_system::fs::persist(draft, file)
    }

    fn failed(&self, error: &rusqlite::Error) -> Error {
        failed(&self.path, error)
    }

    fn damaged(&self, why: &str) -> Error {
        Error::setup(format!("the history {} is damaged: {why}", self.path.display()))
            .hint("remove the file; `cargo perfunit log` makes it again")
    }
}

/// Switches the journal mode. `SQLite` reads the mode first, and a reader that wants to write does not wait for another
/// one (both might): busy at once, whatever the timeout is.
fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            ended => return ended,
        }
    }
}

fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Whether a file can be used for this project.
fn check(connection: &Connection, path: &Path, project: &str) -> Result<()> {
    let failed = |error: rusqlite::Error| failed(path, &error);
    let found = version(connection).map_err(failed)?;
    if found != VERSION {
        return Err(Error::usage(format!(
            "{} has version {found} of the schema, and this version of cargo-perfunit knows {VERSION}",
            path.display()
        )));
    }
    let known: String = connection.query_row("SELECT beginning FROM project", [], |row| row.get(0)).map_err(failed)?;
    if known != project {
        return Err(Error::usage(format!("{} is the history of another project", path.display())));
    }
    Ok(())
}

fn failed(path: &Path, error: &rusqlite::Error) -> Error {
    let message = Error::setup(format!("cannot use the history {}: {error}", path.display()));
    if let rusqlite::Error::FromSqlConversionFailure(..) = error {
        return message.hint("a newer cargo-perfunit may have written it: name another file with --store");
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            message.hint("remove the file, or name another with --store")
        }
        Some(ErrorCode::DiskFull) => message.hint("free some disk space; what was kept stays valid"),
        Some(ErrorCode::DatabaseBusy) => message.hint("another process has been writing it for a minute"),
        _ => message.hint("choose a writable file with --store"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::samples;
    use perfunit_model::{ReasonKind, Verdict};

    fn key(head: &str) -> Key<'_> {
        Key { base: "a", head, terms: "t", machine: "m" }
    }

    #[test]
    fn what_is_kept_is_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("h.sqlite");
        let mut step = samples::step("a", &[("one", Verdict::Slower, 0.12), ("two", Verdict::Same, 0.0)]);
        step.unlisted.insert(step.tests[0].test.target.clone());
        let mut store = Store::open(&path, "p").unwrap();
        assert_eq!(store.step(key("b")).unwrap(), None);
        store.keep(key("b"), &step).unwrap();
        store.skip("c", "t", "m", &Skipped::DoesNotBuild { error: "error: no".to_owned() }).unwrap();
        drop(store);
        let store = Store::open(&path, "p").unwrap();
        assert_eq!(store.step(key("b")).unwrap(), Some(step));
        assert_eq!(store.step(Key { terms: "u", ..key("b") }).unwrap(), None);
        assert_eq!(
            store.skipped("c", "t", "n").unwrap(),
            Some(Skipped::DoesNotBuild { error: "error: no".to_owned() })
        );
        assert_eq!(store.skipped("b", "t", "m").unwrap(), None);
    }

    #[test]
    fn a_reason_is_kept_and_one_that_is_not_known_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("h.sqlite");
        let mut step = samples::step("a", &[("one", Verdict::NotMeasured, 0.0)]);
        (step.tests[0].reason, step.tests[0].figures) = (Some(ReasonKind::NotExecuted), None);
        let mut store = Store::open(&path, "p").unwrap();
        store.keep(key("b"), &step).unwrap();
        assert_eq!(store.step(key("b")).unwrap(), Some(step));
        let words = "SELECT verdict || ' ' || reason FROM outcome";
        assert_eq!(store.connection.query_row(words, [], |row| row.get(0)), Ok("not-measured not-executed".to_owned()));
        store.connection.execute("UPDATE outcome SET reason = 'eclipse'", []).unwrap();
        let error = store.step(key("b")).unwrap_err().to_string();
        assert!(error.contains("unknown word `eclipse`") && error.contains("hint: a newer"), "{error}");
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
        // Unless the second is surer.
        let sure = Step { alpha: steps[1].alpha / 2.0, ..steps[1].clone() };
        two.keep(key("b"), &sure).unwrap();
        assert_eq!(one.step(key("b")).unwrap(), Some(sure));
    }

    #[test]
    fn a_store_can_be_made_by_several_at_once() {
        let folder = tempfile::tempdir().unwrap();
        for round in 0..20 {
            let path = folder.path().join(format!("{round}.sqlite"));
            let together = std::sync::Barrier::new(8);
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| {
                        together.wait();
                        Store::open(&path, "p").unwrap();
                    });
                }
            });
        }
    }

    #[test]
    fn of_several_machines_the_own_answer_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(&folder.path().join("h.sqlite"), "p").unwrap();
        let on = |machine| Step { machine: String::from(machine), ..samples::step("a", &[]) };
        let key = |machine| Key { machine, ..key("b") };
        store.keep(key("n"), &on("n")).unwrap();
        assert_eq!(store.step(key("m")).unwrap(), Some(on("n")));
        store.keep(key("m"), &on("m")).unwrap();
        assert_eq!(store.step(key("m")).unwrap(), Some(on("m")));
        assert_eq!(store.step(key("n")).unwrap(), Some(on("n")));
    }

    #[test]
    fn files_are_joined_and_contradictions_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let (mut one, mut two) = (Store::open(&path("1"), "p").unwrap(), Store::open(&path("2"), "p").unwrap());
        let step = |change| samples::step("a", &[("one", Verdict::Slower, change)]);
        let why = Skipped::DoesNotBuild { error: "error: no".to_owned() };
        for (head, ours, theirs) in [("b", Some(0.1), Some(0.1)), ("c", Some(0.1), Some(0.2)), ("d", None, Some(0.3))] {
            for (store, change) in [(&mut one, ours), (&mut two, theirs)] {
                change.map_or(Ok(()), |change| store.keep(key(head), &step(change))).unwrap();
            }
        }
        two.keep(Key { terms: "u", ..key("b") }, &step(0.4)).unwrap();
        two.skip("e", "t", "m", &why).unwrap();
        two.export(&path("3")).unwrap();
        let joined = one.join(&path("3"), "p", "t").unwrap();
        assert_eq!(joined, Joined { new: 3, same: 1, contradictions: 1, usable: 4 });
        let change = |head| one.step(key(head)).unwrap().unwrap().tests[0].figures.unwrap().change.estimate;
        assert_eq!([change("b"), change("c"), change("d")].map(|change| (change * 10.0).round() as u32), [1, 1, 3]);
        assert_eq!(one.skipped("e", "t", "m").unwrap(), Some(why));
        // Again, and out of the file itself while it is open: nothing new.
        assert_eq!(one.join(&path("2"), "p", "t").unwrap(), Joined { new: 0, same: 4, contradictions: 1, usable: 4 });
    }

    #[test]
    fn what_cannot_be_joined_is_refused_and_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let mut store = Store::open(&path("1"), "p").unwrap();
        let other = Store::open(&path("2"), "q").unwrap();
        let mut message = |name: &str| store.join(&path(name), "p", "t").unwrap_err().to_string();
        assert!(message("2").contains("another project"), "{}", message("2"));
        other.connection.pragma_update(None, "user_version", 9).unwrap();
        assert!(message("2").contains("version 9 of the schema"), "{}", message("2"));
        assert!(message("none").contains("cannot read the history"), "{}", message("none"));
        assert!(!path("none").exists());
        std::fs::write(path("4"), "no database, but a text that is long enough to be looked at".repeat(20)).unwrap();
        assert!(message("4").contains("not a database"), "{}", message("4"));
        std::fs::write(path("5"), "").unwrap();
        assert!(message("5").contains("cannot read the history"), "{}", message("5"));
        // The end is missing.
        let whole = std::fs::read(path("1")).unwrap();
        std::fs::write(path("6"), &whole[..whole.len() / 2]).unwrap();
        assert!(message("6").contains("cannot read the history"), "{}", message("6"));
    }

    #[test]
    fn a_full_disk_loses_the_step_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("h.sqlite");
        let mut store = Store::open(&path, "p").unwrap();
        let small = samples::step("a", &[("one", Verdict::Slower, 0.1)]);
        store.keep(key("b"), &small).unwrap();
        let pages: u32 = store.connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
        store.connection.pragma_update(None, "max_page_count", pages + 1).unwrap();
        let names: Vec<String> = (0..1000).map(|number| format!("a::test::with::a::long::name::{number}")).collect();
        let large: Vec<_> = names.iter().map(|name| (name.as_str(), Verdict::Same, 0.0)).collect();
        let error = store.keep(key("c"), &samples::step("a", &large)).unwrap_err().to_string();
        assert!(error.contains("full") && error.contains("free some disk space"), "{error}");
        drop(store);
        let store = Store::open(&path, "p").unwrap();
        assert_eq!(store.step(key("b")).unwrap(), Some(small));
        assert_eq!(store.step(key("c")).unwrap(), None);
    }

    #[test]
    fn a_place_where_nothing_can_be_written_is_named() {
        // For everybody, root included.
        let error = Store::open(Path::new("/proc/h.sqlite"), "p").err().unwrap().to_string();
        assert!(error.contains("/proc/h.sqlite") && error.contains("--store"), "{error}");
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
