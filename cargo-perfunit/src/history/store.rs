//! Results of steps in a `SQLite` file. Several processes may write to it, and a crash leaves only complete steps.
//!
//! `docs/commands/log.md` documents the schema. Times of a step come from its own pairs; they are never compared with
//! another step's.

use perfunit_decide as decide;
use perfunit_model::error::{Error, Result};
use perfunit_model::{
    Change, Joined, Metric, NothingBecause, ProgramChange, Skipped, Step, StepFigures, StepTest, TargetId, TargetKind,
    TestId, variant_name,
};
use rusqlite::types::Type;
use rusqlite::{
    Connection, ErrorCode, OpenFlags, OptionalExtension as _, Row, Transaction, TransactionBehavior, params,
    params_from_iter,
};
use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, IntoDeserializer as _};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Version of the schema.
const VERSION: u32 = 6;
/// Timeout for waiting on another process.
const PATIENCE: Duration = Duration::from_mins(1);
const SCHEMA: &str = include_str!("schema.sql");

/// Stored steps.
pub struct Store {
    path: PathBuf,
    connection: Connection,
}

impl Store {
    /// Opens or creates the file. `project` names the repository; a store holds one.
    pub fn open(path: &Path, project: &str) -> Result<Self> {
        if let Some(folder) = path.parent() {
            perfunit_system::fs::create_dir_all(folder)?;
        }
        let failed = |error: rusqlite::Error| use_error(path, &error);
        let connection = Connection::open(path).map_err(failed)?;
        connection.busy_timeout(PATIENCE).map_err(failed)?;
        // Readers do not wait for writers. A power failure may lose the last step, but never damages the file.
        write_ahead(&connection).map_err(failed)?;
        connection.pragma_update(None, "foreign_keys", true).map_err(failed)?;
        let store = Self { path: path.to_owned(), connection };
        store.prepare(project)?;
        Ok(store)
    }

    fn prepare(&self, project: &str) -> Result<()> {
        let failed = |error: rusqlite::Error| self.use_error(&error);
        let transaction = self.transaction().map_err(failed)?;
        if version(&transaction).map_err(failed)? == 0 {
            transaction.execute_batch(SCHEMA).map_err(failed)?;
            transaction.pragma_update(None, "user_version", VERSION).map_err(failed)?;
            transaction.execute("INSERT INTO project VALUES (?1)", params![project]).map_err(failed)?;
        }
        let hint = if version(&transaction).map_err(failed)? == VERSION {
            "name another file with --store; each project has its own"
        } else {
            "remove the file, or name another one with --store: results of other versions of the tool are not used"
        };
        check(&transaction, &self.path, project).map_err(|error| error.hint(hint))?;
        transaction.commit().map_err(failed)
    }

    /// Returns a stored step, preferably measured on this machine.
    pub fn step(&self, key: Key<'_>) -> Result<Option<Step>> {
        find(&self.connection, key).map_err(|error| self.use_error(&error))
    }

    /// Stores a step atomically. Of two results, the one with the smaller error rate wins, otherwise the first.
    pub fn keep(&self, key: Key<'_>, step: &Step) -> Result<()> {
        let kept = self.transaction().and_then(|transaction| {
            let Key { base, head, terms, machine } = key;
            transaction.execute(
                "DELETE FROM step WHERE base = ?1 AND head = ?2 AND terms = ?3 AND machine = ?4 AND alpha > ?5",
                params![base, head, terms, machine, step.alpha],
            )?;
            insert(&transaction, key, step)?;
            transaction.commit()
        });
        kept.map_err(|error| self.use_error(&error))
    }

    /// Begins a transaction. None may be open; each function ends its own.
    fn transaction(&self) -> rusqlite::Result<Transaction<'_>> {
        Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)
    }

    /// Returns the reason why a commit cannot be compared, preferably from this machine.
    pub fn skip_reason(&self, commit: &str, terms: &str, machine: &str) -> Result<Option<Skipped>> {
        let found: Option<String> = self
            .connection
            .query_row(
                "SELECT why FROM skipped WHERE commit_id = ?1 AND terms = ?2 ORDER BY machine = ?3 DESC, rowid LIMIT 1",
                params![commit, terms, machine],
                |row| row.get(0),
            )
            .optional()
            .map_err(|error| self.use_error(&error))?;
        let read = |json: String| serde_json::from_str(&json).map_err(|error| self.damage_error(&error.to_string()));
        found.map(read).transpose()
    }

    pub fn skip(&self, commit: &str, terms: &str, machine: &str, why: &Skipped) -> Result<()> {
        let why = serde_json::to_string(why).map_err(|error| self.damage_error(&error.to_string()))?;
        let [commit, terms, machine] = [commit, terms, machine].map(str::to_owned);
        let kept = SkippedRow { commit, terms, machine, why }.insert(&self.connection);
        kept.map(drop).map_err(|error| self.use_error(&error))
    }

    /// Imports the results in another file of the same project, atomically. Existing results stay.
    pub fn join(&self, other: &Path, project: &str, terms: &str) -> Result<Joined> {
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
        let failed = |error: rusqlite::Error| self.use_error(&error);
        let transaction = self.transaction().map_err(failed)?;
        let mut joined = Joined::default();
        let known = all_steps(&theirs).map_err(unreadable)?;
        for (key, step) in &known {
            joined.usable += usize::from(key.terms == terms);
            let is_new = insert(&transaction, key.as_key(), step).map_err(failed)?;
            let here = if is_new { None } else { find(&transaction, key.as_key()).map_err(failed)? };
            joined.count(is_new, here.as_ref() == Some(step));
        }
        for skipped in all_skipped(&theirs).map_err(unreadable)? {
            joined.usable += usize::from(skipped.terms == terms);
            let here = skipped.insert(&transaction).map_err(failed)?;
            joined.count(here.is_none(), here.as_ref() == Some(&skipped.why));
        }
        transaction.commit().map_err(failed)?;
        Ok(joined)
    }

    /// Exports everything to another file, which is replaced at the end.
    pub fn export(&self, file: &Path) -> Result<()> {
        let draft = perfunit_system::fs::draft(file)?;
        let name = draft.path().to_string_lossy();
        self.connection.execute("VACUUM INTO ?1", params![name]).map_err(|error| {
            Error::setup(format!("cannot write the history to {}: {error}", file.display()))
                .hint("choose a place with enough room for --export")
        })?;
        perfunit_system::fs::persist(draft, file)
    }

    fn use_error(&self, error: &rusqlite::Error) -> Error {
        use_error(&self.path, error)
    }

    fn damage_error(&self, why: &str) -> Error {
        Error::setup(format!("the history {} is damaged: {why}", self.path.display()))
            .hint("remove the file; `cargo perfunit log` creates a new one")
    }
}

/// Switches the journal mode. `SQLite` reads the mode first, and a reader that then wants to write does not wait for
/// another one (both might deadlock): it reports busy at once, regardless of the timeout.
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

/// Checks that a file belongs to this project and version.
fn check(connection: &Connection, path: &Path, project: &str) -> Result<()> {
    let failed = |error: rusqlite::Error| use_error(path, &error);
    let found = version(connection).map_err(failed)?;
    if found != VERSION {
        return Err(Error::usage(format!(
            "{} has schema version {found}, but this version of cargo-perfunit expects {VERSION}",
            path.display()
        )));
    }
    let known: String = connection.query_row("SELECT beginning FROM project", [], |row| row.get(0)).map_err(failed)?;
    if known != project {
        return Err(Error::usage(format!("{} is the history of another project", path.display())));
    }
    Ok(())
}

fn use_error(path: &Path, error: &rusqlite::Error) -> Error {
    let message = Error::setup(format!("cannot use the history {}: {error}", path.display()));
    if let rusqlite::Error::FromSqlConversionFailure(..) = error {
        return message.hint("a newer cargo-perfunit may have written it: name another file with --store");
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            message.hint("remove the file, or name another with --store")
        }
        Some(ErrorCode::DiskFull) => message.hint("free some disk space; stored results stay valid"),
        Some(ErrorCode::DatabaseBusy) => message.hint("another process has been writing to it for a minute"),
        _ => message.hint("choose a writable file with --store"),
    }
}

/// The key of a step: a commit, its base, and everything else that its result depends on.
#[derive(Debug, Clone, Copy)]
pub struct Key<'a> {
    pub base: &'a str,
    pub head: &'a str,
    /// Hash of options and toolchain.
    pub terms: &'a str,
    /// Processor model.
    pub machine: &'a str,
}

/// An owned key.
#[derive(Debug, Clone)]
pub struct OwnedKey {
    pub base: String,
    pub head: String,
    pub terms: String,
    pub machine: String,
}

impl OwnedKey {
    pub fn as_key(&self) -> Key<'_> {
        Key { base: &self.base, head: &self.head, terms: &self.terms, machine: &self.machine }
    }
}

/// A commit that cannot be compared.
pub struct SkippedRow {
    pub commit: String,
    pub terms: String,
    pub machine: String,
    pub why: String,
}

impl SkippedRow {
    /// Inserts the row, or returns the existing reason.
    pub fn insert(&self, connection: &Connection) -> rusqlite::Result<Option<String>> {
        let Self { commit, terms, machine, why } = self;
        let new = connection
            .execute("INSERT OR IGNORE INTO skipped VALUES (?1, ?2, ?3, ?4)", params![commit, terms, machine, why])?;
        if new == 1 {
            return Ok(None);
        }
        let known = "SELECT why FROM skipped WHERE commit_id = ?1 AND terms = ?2 AND machine = ?3";
        connection.query_row(known, params![commit, terms, machine], |row| row.get(0)).map(Some)
    }
}

/// Reads a step without its tests, and its number. Columns are those of [`all_steps`] from `base` on, after the number.
fn step(row: &Row<'_>) -> rusqlite::Result<(i64, Step)> {
    let step = Step {
        base: row.get(1)?,
        found: row.get::<_, u32>(2)? as usize,
        selected: row.get::<_, u32>(3)? as usize,
        nothing_because: nothing_because(row, 4)?,
        tests: Vec::new(),
        programs: Vec::new(),
        unlisted: BTreeSet::new(),
        alpha: row.get(5)?,
        seconds: row.get(6)?,
        machine: row.get(7)?,
    };
    Ok((row.get(0)?, step))
}

fn nothing_because(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<NothingBecause>> {
    let json: Option<String> = row.get(column)?;
    json.map(|json| serde_json::from_str(&json).map_err(|_| unknown(column, &json))).transpose()
}

/// Returns the step with this key, preferably from its machine.
pub fn find(connection: &Connection, key: Key<'_>) -> rusqlite::Result<Option<Step>> {
    let found = connection
        .query_row(
            "SELECT id, base, found, selected, nothing_because, alpha, seconds, machine FROM step
             WHERE base = ?1 AND head = ?2 AND terms = ?3 ORDER BY machine = ?4 DESC, alpha, id LIMIT 1",
            params![key.base, key.head, key.terms, key.machine],
            step,
        )
        .optional()?;
    let Some((id, step)) = found else { return Ok(None) };
    with_tests(connection, id, step).map(Some)
}

/// Returns all steps in the order in which they were stored.
pub fn all_steps(connection: &Connection) -> rusqlite::Result<Vec<(OwnedKey, Step)>> {
    let mut statement = connection.prepare(
        "SELECT id, base, found, selected, nothing_because, alpha, seconds, machine, head, terms FROM step ORDER BY id",
    )?;
    let found = statement.query_map([], |row| {
        let (id, step) = step(row)?;
        let (base, machine) = (step.base.clone(), step.machine.clone());
        Ok((id, OwnedKey { base, head: row.get(8)?, terms: row.get(9)?, machine }, step))
    })?;
    let found: Vec<(i64, OwnedKey, Step)> = found.collect::<rusqlite::Result<_>>()?;
    found.into_iter().map(|(id, key, step)| Ok((key, with_tests(connection, id, step)?))).collect()
}

/// Adds the data from other tables.
fn with_tests(connection: &Connection, id: i64, step: Step) -> rusqlite::Result<Step> {
    let (tests, programs) = (tests(connection, id)?, programs(connection, id)?);
    Ok(Step { tests, programs, unlisted: unlisted_targets(connection, id)?, ..step })
}

fn programs(connection: &Connection, step: i64) -> rusqlite::Result<Vec<ProgramChange>> {
    let mut statement = connection.prepare_cached(
        "SELECT name, tests, verdict, estimate, low, high, threshold, p_value FROM program WHERE step = ?1",
    )?;
    let read = |row: &Row<'_>| {
        Ok(ProgramChange {
            name: row.get(0)?,
            tests: row.get::<_, u32>(1)? as usize,
            verdict: parse_variant(row, 2)?,
            change: Change { estimate: row.get(3)?, low: row.get(4)?, high: row.get(5)? },
            threshold: row.get(6)?,
            p_value: row.get(7)?,
        })
    };
    statement.query_map([step], read)?.collect()
}

fn unlisted_targets(connection: &Connection, step: i64) -> rusqlite::Result<BTreeSet<TargetId>> {
    let mut statement =
        connection.prepare_cached("SELECT package, target_kind, target FROM unlisted WHERE step = ?1")?;
    statement.query_map([step], target)?.collect()
}

/// Reads a target from the first three columns.
fn target(row: &Row<'_>) -> rusqlite::Result<TargetId> {
    Ok(TargetId { package: row.get(0)?, kind: parse_variant::<TargetKind>(row, 1)?, name: row.get(2)? })
}

pub fn all_skipped(connection: &Connection) -> rusqlite::Result<Vec<SkippedRow>> {
    let mut statement = connection.prepare("SELECT commit_id, terms, machine, why FROM skipped ORDER BY rowid")?;
    let read = |row: &Row<'_>| {
        Ok(SkippedRow { commit: row.get(0)?, terms: row.get(1)?, machine: row.get(2)?, why: row.get(3)? })
    };
    statement.query_map([], read)?.collect()
}

/// Returns the tests of a step in the order of their names.
fn tests(connection: &Connection, step: i64) -> rusqlite::Result<Vec<StepTest>> {
    let mut statement = connection.prepare_cached(
        "SELECT package, target_kind, target, test_name.name, verdict, reason, estimate, low, high, result.base,
         result.head, mode, effect, function_name.name, test_code, metrics
         FROM result JOIN test_name ON test_name.id = test JOIN outcome ON outcome.id = outcome
         LEFT JOIN function_name ON function_name.id = function WHERE step = ?1",
    )?;
    let mut tests: Vec<StepTest> = statement.query_map([step], test)?.collect::<rusqlite::Result<_>>()?;
    tests.sort_by(|one, two| one.test.cmp(&two.test));
    Ok(tests)
}

/// Inserts a step with its tests; returns false if it exists.
pub fn insert(connection: &Connection, key: Key<'_>, step: &Step) -> rusqlite::Result<bool> {
    let (found, selected) = (step.found as u32, step.selected as u32);
    let nothing_because = step.nothing_because.map(|because| serde_json::to_string(&because)).transpose();
    let nothing_because = nothing_because.map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    let new = connection.execute(
        "INSERT OR IGNORE INTO step (base, head, terms, machine, found, selected, nothing_because, alpha, seconds)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![key.base, key.head, key.terms, key.machine, found, selected, nothing_because, step.alpha, step.seconds],
    )?;
    if new == 0 {
        return Ok(false);
    }
    let id = connection.last_insert_rowid();
    for TargetId { package, kind, name } in &step.unlisted {
        let words = params![id, package, variant_name(kind), name];
        connection.execute("INSERT INTO unlisted VALUES (?1, ?2, ?3, ?4)", words)?;
    }
    for ProgramChange { name, tests, verdict, change, threshold, p_value } in &step.programs {
        let (tests, verdict) = (*tests as u32, variant_name(verdict));
        connection.execute(
            "INSERT INTO program VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![id, name, tests, verdict, change.estimate, change.low, change.high, threshold, p_value],
        )?;
    }
    let mut statement =
        connection.prepare_cached("INSERT OR IGNORE INTO result VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?;
    for found in &step.tests {
        let figures = found.figures;
        let change = |of: fn(&Change) -> f64| figures.and_then(|figures| whole(of(&figures.change), BILLIONTHS));
        let function = found.function.as_deref().map(|name| number(connection, FUNCTION, &[name])).transpose()?;
        statement.execute(params![
            id,
            test_number(connection, &found.test)?,
            outcome_number(connection, found)?,
            change(|change| change.estimate),
            change(|change| change.low),
            change(|change| change.high),
            figures.and_then(|figures| whole(figures.base_ns, PICOSECONDS)),
            figures.and_then(|figures| whole(figures.head_ns, PICOSECONDS)),
            figures.and_then(|figures| whole(figures.effect.d, MILLIONTHS)),
            function,
        ])?;
    }
    Ok(true)
}

const TEST: [&str; 2] = [
    "INSERT OR IGNORE INTO test_name (name, package, target_kind, target) VALUES (?1, ?2, ?3, ?4)",
    "SELECT id FROM test_name WHERE name = ?1 AND package = ?2 AND target_kind = ?3 AND target = ?4",
];
const OUTCOME: [&str; 2] = [
    "INSERT OR IGNORE INTO outcome (verdict, reason, mode, test_code, metrics) VALUES (?1, ?2, ?3, ?4, ?5)",
    "SELECT id FROM outcome WHERE verdict = ?1 AND reason = ?2 AND mode = ?3 AND test_code = ?4 AND metrics = ?5",
];
const FUNCTION: [&str; 2] =
    ["INSERT OR IGNORE INTO function_name (name) VALUES (?1)", "SELECT id FROM function_name WHERE name = ?1"];

/// Returns the number of a unique row of words, and inserts it if needed.
fn number(connection: &Connection, [insert, select]: [&str; 2], words: &[&str]) -> rusqlite::Result<i64> {
    let select = &mut connection.prepare_cached(select)?;
    let known = select.query_row(params_from_iter(words), |row| row.get(0)).optional()?;
    if let Some(known) = known {
        return Ok(known);
    }
    connection.prepare_cached(insert)?.execute(params_from_iter(words))?;
    select.query_row(params_from_iter(words), |row| row.get(0))
}

fn test_number(connection: &Connection, TestId { target, name }: &TestId) -> rusqlite::Result<i64> {
    number(connection, TEST, &[name, &target.package, &variant_name(target.kind), &target.name])
}

fn outcome_number(connection: &Connection, found: &StepTest) -> rusqlite::Result<i64> {
    let mode = found.figures.map(|figures| variant_name(figures.mode)).unwrap_or_default();
    let test_code = found.test_code.map(variant_name).unwrap_or_default();
    let metrics = found.metrics.iter().map(|metric| metric.name()).collect::<Vec<_>>().join(",");
    let reason = found.reason.map(variant_name).unwrap_or_default();
    number(connection, OUTCOME, &[&variant_name(found.verdict), &reason, &mode, &test_code, &metrics])
}

/// Units that make figures whole numbers.
const BILLIONTHS: f64 = 1e9;
const MILLIONTHS: f64 = 1e6;
/// Picoseconds per nanosecond.
const PICOSECONDS: f64 = 1e3;

/// Converts a figure to whole units. The largest numbers stand for infinity, and `None` for NaN.
fn whole(figure: f64, units: f64) -> Option<i64> {
    (!figure.is_nan()).then(|| (figure * units).round() as i64)
}

fn figure(row: &Row<'_>, column: usize, units: f64) -> rusqlite::Result<f64> {
    Ok(match row.get::<_, Option<i64>>(column)? {
        None => f64::NAN,
        Some(i64::MAX) => f64::INFINITY,
        Some(i64::MIN) => f64::NEG_INFINITY,
        Some(whole) => whole as f64 / units,
    })
}

fn test(row: &Row<'_>) -> rusqlite::Result<StepTest> {
    let figures = match enumerated_if_any(row, 11)? {
        Some(mode) => Some(StepFigures {
            change: Change {
                estimate: figure(row, 6, BILLIONTHS)?,
                low: figure(row, 7, BILLIONTHS)?,
                high: figure(row, 8, BILLIONTHS)?,
            },
            base_ns: figure(row, 9, PICOSECONDS)?,
            head_ns: figure(row, 10, PICOSECONDS)?,
            mode,
            effect: decide::effect_size(figure(row, 12, MILLIONTHS)?),
        }),
        None => None,
    };
    let metrics: String = row.get(15)?;
    let metrics = metrics.split(',').filter(|name| !name.is_empty());
    Ok(StepTest {
        test: TestId { target: target(row)?, name: row.get(3)? },
        verdict: parse_variant(row, 4)?,
        reason: enumerated_if_any(row, 5)?,
        figures,
        function: row.get(13)?,
        test_code: enumerated_if_any(row, 14)?,
        metrics: metrics
            .map(|name| Metric::from_name(name).ok_or_else(|| unknown(15, name)))
            .collect::<rusqlite::Result<_>>()?,
    })
}

fn parse_variant<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let word = row.get_ref(column)?.as_str()?;
    let deserializer: StrDeserializer<'_, serde::de::value::Error> = word.into_deserializer();
    T::deserialize(deserializer).map_err(|_| unknown(column, word))
}

/// Reads a word of [`outcome`](OUTCOME), which may be empty.
fn enumerated_if_any<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<T>> {
    if row.get_ref(column)?.as_str()?.is_empty() { Ok(None) } else { parse_variant(row, column).map(Some) }
}

fn unknown(column: usize, word: &str) -> rusqlite::Error {
    let why = format!("unknown word `{word}`");
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, why.into())
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
        step.programs = vec![perfunit_model::samples::started_by_many(0.06)];
        let store = Store::open(&path, "p").unwrap();
        assert_eq!(store.step(key("b")).unwrap(), None);
        store.keep(key("b"), &step).unwrap();
        store.skip("c", "t", "m", &Skipped::DoesNotBuild { error: "error: no".to_owned() }).unwrap();
        drop(store);
        let store = Store::open(&path, "p").unwrap();
        assert_eq!(store.step(key("b")).unwrap(), Some(step));
        assert_eq!(store.step(Key { terms: "u", ..key("b") }).unwrap(), None);
        assert_eq!(
            store.skip_reason("c", "t", "n").unwrap(),
            Some(Skipped::DoesNotBuild { error: "error: no".to_owned() })
        );
        assert_eq!(store.skip_reason("b", "t", "m").unwrap(), None);
    }

    #[test]
    fn a_reason_is_kept_and_one_that_is_not_known_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("h.sqlite");
        let mut step = samples::step("a", &[("one", Verdict::NotMeasured, 0.0)]);
        (step.tests[0].reason, step.tests[0].figures) = (Some(ReasonKind::NotExecuted), None);
        let store = Store::open(&path, "p").unwrap();
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
        let (one, two) = (Store::open(&path, "p").unwrap(), Store::open(&path, "p").unwrap());
        let steps = [0.1, 0.2].map(|change| samples::step("a", &[("one", Verdict::Slower, change)]));
        one.keep(key("b"), &steps[0]).unwrap();
        two.keep(key("b"), &steps[1]).unwrap();
        assert_eq!(two.step(key("b")).unwrap().as_ref(), Some(&steps[0]));
        // A second step with a smaller error rate replaces it.
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
        let store = Store::open(&folder.path().join("h.sqlite"), "p").unwrap();
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
        let (one, two) = (Store::open(&path("1"), "p").unwrap(), Store::open(&path("2"), "p").unwrap());
        let step = |change| samples::step("a", &[("one", Verdict::Slower, change)]);
        let why = Skipped::DoesNotBuild { error: "error: no".to_owned() };
        for (head, ours, theirs) in [("b", Some(0.1), Some(0.1)), ("c", Some(0.1), Some(0.2)), ("d", None, Some(0.3))] {
            for (store, change) in [(&one, ours), (&two, theirs)] {
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
        assert_eq!(one.skip_reason("e", "t", "m").unwrap(), Some(why));
        // Importing again, even from the open file itself, adds nothing.
        assert_eq!(one.join(&path("2"), "p", "t").unwrap(), Joined { new: 0, same: 4, contradictions: 1, usable: 4 });
    }

    #[test]
    fn what_cannot_be_joined_is_refused_and_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let store = Store::open(&path("1"), "p").unwrap();
        let other = Store::open(&path("2"), "q").unwrap();
        let message = |name: &str| store.join(&path(name), "p", "t").unwrap_err().to_string();
        assert!(message("2").contains("another project"), "{}", message("2"));
        other.connection.pragma_update(None, "user_version", 9).unwrap();
        assert!(message("2").contains("schema version 9"), "{}", message("2"));
        assert!(message("none").contains("cannot read the history"), "{}", message("none"));
        assert!(!path("none").exists());
        std::fs::write(path("4"), "no database, but a text that is long enough to be looked at".repeat(20)).unwrap();
        assert!(message("4").contains("not a database"), "{}", message("4"));
        std::fs::write(path("5"), "").unwrap();
        assert!(message("5").contains("cannot read the history"), "{}", message("5"));
        // A truncated file.
        let whole = std::fs::read(path("1")).unwrap();
        std::fs::write(path("6"), &whole[..whole.len() / 2]).unwrap();
        assert!(message("6").contains("cannot read the history"), "{}", message("6"));
    }

    #[test]
    fn a_full_disk_loses_the_step_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("h.sqlite");
        let store = Store::open(&path, "p").unwrap();
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
        // Not even root can create a file here.
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
        assert!(message("p").contains("schema version 9"), "{}", message("p"));
        drop(store);
        let damaged = folder.path().join("d.sqlite");
        std::fs::write(&damaged, "no database, but a text that is long enough to be looked at".repeat(20)).unwrap();
        let error = Store::open(&damaged, "p").err().unwrap().to_string();
        assert!(error.contains("not a database") && error.contains("--store"), "{error}");
    }
}
