//! Rows of the store: how facts stand in its tables.

use crate::decide;
use crate::model::{Change, Metric, Step, StepFigures, StepTest, TargetId, TargetKind, TestId};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A step's place: a commit, what it is compared with, and everything else that its result depends on.
#[derive(Debug, Clone, Copy)]
pub struct Key<'a> {
    pub base: &'a str,
    pub head: &'a str,
    /// Names options and toolchain.
    pub terms: &'a str,
    /// The model of the processor.
    pub machine: &'a str,
}

/// A key that lives on its own.
#[derive(Debug, Clone)]
pub struct OwnedKey {
    pub base: String,
    pub head: String,
    pub terms: String,
    pub machine: String,
}

impl OwnedKey {
    pub fn borrowed(&self) -> Key<'_> {
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
    /// Adds the row, or returns the reason that is there.
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

/// A step without its tests, and its number. Columns are those of [`all_steps`], from `base` on, behind the number.
pub fn step(row: &Row<'_>) -> rusqlite::Result<(i64, Step)> {
    let step = Step {
        base: row.get(1)?,
        found: row.get::<_, u32>(2)? as usize,
        selected: row.get::<_, u32>(3)? as usize,
        nothing_because: row.get(4)?,
        tests: Vec::new(),
        alpha: row.get(5)?,
        seconds: row.get(6)?,
        machine: row.get(7)?,
    };
    Ok((row.get(0)?, step))
}

/// The step of exactly this key.
pub fn exactly(connection: &Connection, key: Key<'_>) -> rusqlite::Result<Option<Step>> {
    let found = connection
        .query_row(
            "SELECT id, base, found, selected, nothing_because, alpha, seconds, machine FROM step
             WHERE base = ?1 AND head = ?2 AND terms = ?3 AND machine = ?4",
            params![key.base, key.head, key.terms, key.machine],
            step,
        )
        .optional()?;
    let Some((id, step)) = found else { return Ok(None) };
    Ok(Some(Step { tests: tests(connection, id)?, ..step }))
}

/// All that is known, in the order in which it was found out.
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
    let whole = |(id, key, step)| Ok((key, Step { tests: tests(connection, id)?, ..step }));
    found.into_iter().map(whole).collect()
}

pub fn all_skipped(connection: &Connection) -> rusqlite::Result<Vec<SkippedRow>> {
    let mut statement = connection.prepare("SELECT commit_id, terms, machine, why FROM skipped ORDER BY rowid")?;
    let read = |row: &Row<'_>| {
        Ok(SkippedRow { commit: row.get(0)?, terms: row.get(1)?, machine: row.get(2)?, why: row.get(3)? })
    };
    statement.query_map([], read)?.collect()
}

pub fn tests(connection: &Connection, step: i64) -> rusqlite::Result<Vec<StepTest>> {
    let mut statement = connection.prepare_cached(
        "SELECT package, target_kind, target, name, verdict, reason, estimate, low, high, base_ns, head_ns, mode, effect,
         function, test_code, metrics FROM test WHERE step = ?1 ORDER BY rowid",
    )?;
    statement.query_map([step], test)?.collect()
}

/// Adds a step with its tests; false if there is one already.
pub fn insert(connection: &Connection, key: Key<'_>, step: &Step) -> rusqlite::Result<bool> {
    let (found, selected) = (step.found as u32, step.selected as u32);
    let new = connection.execute(
        "INSERT OR IGNORE INTO step (base, head, terms, machine, found, selected, nothing_because, alpha, seconds)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            key.base,
            key.head,
            key.terms,
            key.machine,
            found,
            selected,
            step.nothing_because,
            step.alpha,
            step.seconds
        ],
    )?;
    if new == 0 {
        return Ok(false);
    }
    let id = connection.last_insert_rowid();
    let mut statement = connection.prepare_cached(
        "INSERT INTO test (step, package, target_kind, target, name, verdict, reason, estimate, low, high, base_ns,
         head_ns, mode, effect, function, test_code, metrics)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
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
            figures.map(|figures| figures.effect.d),
            found.function,
            found.test_code.map(|side| word(&side)),
            found.metrics.iter().map(|metric| metric.name()).collect::<Vec<_>>().join(","),
        ])?;
    }
    Ok(true)
}

fn test(row: &Row<'_>) -> rusqlite::Result<StepTest> {
    let target = TargetId { package: row.get(0)?, kind: enumerated::<TargetKind>(row, 1)?, name: row.get(2)? };
    let estimate: Option<f64> = row.get(6)?;
    let figures = match estimate {
        Some(estimate) => Some(StepFigures {
            change: Change { estimate, low: row.get(7)?, high: row.get(8)? },
            base_ns: row.get(9)?,
            head_ns: row.get(10)?,
            mode: enumerated(row, 11)?,
            effect: decide::effect_size(row.get(12)?),
        }),
        None => None,
    };
    let test_code: Option<String> = row.get(14)?;
    let test_code = test_code.map(|_| enumerated(row, 14)).transpose()?;
    let metrics: String = row.get(15)?;
    let metrics = metrics.split(',').filter(|name| !name.is_empty());
    Ok(StepTest {
        test: TestId { target, name: row.get(3)? },
        verdict: enumerated(row, 4)?,
        reason: row.get(5)?,
        figures,
        function: row.get(13)?,
        test_code,
        metrics: metrics.map(|name| Metric::named(name).ok_or_else(|| unknown(15, name))).collect::<Result<_, _>>()?,
    })
}

/// A word of an enum as documents have it.
fn word<T: Serialize>(value: &T) -> Option<String> {
    serde_json::to_value(value).ok()?.as_str().map(str::to_owned)
}

fn enumerated<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let word: String = row.get(column)?;
    serde_json::from_value(serde_json::Value::String(word.clone())).map_err(|_| unknown(column, &word))
}

fn unknown(column: usize, word: &str) -> rusqlite::Error {
    let why = format!("unknown word `{word}`");
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, why.into())
}
