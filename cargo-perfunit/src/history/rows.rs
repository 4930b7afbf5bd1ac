//! Rows of the store: how facts stand in its tables.

use perfunit_decide as decide;
use perfunit_model::{
    Change, Metric, NothingBecause, Step, StepFigures, StepTest, TargetId, TargetKind, TestId, variant_name,
};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, Row, params, params_from_iter};
use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, IntoDeserializer as _};
use std::collections::BTreeSet;

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
fn step(row: &Row<'_>) -> rusqlite::Result<(i64, Step)> {
    let step = Step {
        base: row.get(1)?,
        found: row.get::<_, u32>(2)? as usize,
        selected: row.get::<_, u32>(3)? as usize,
        nothing_because: nothing_because(row, 4)?,
        tests: Vec::new(),
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

/// The step of this key: as it was measured on its machine, else on another one.
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
    found.into_iter().map(|(id, key, step)| Ok((key, with_tests(connection, id, step)?))).collect()
}

/// Adds what stands in other tables.
fn with_tests(connection: &Connection, id: i64, step: Step) -> rusqlite::Result<Step> {
    Ok(Step { tests: tests(connection, id)?, unlisted: unlisted(connection, id)?, ..step })
}

fn unlisted(connection: &Connection, step: i64) -> rusqlite::Result<BTreeSet<TargetId>> {
    let mut statement =
        connection.prepare_cached("SELECT package, target_kind, target FROM unlisted WHERE step = ?1")?;
    statement.query_map([step], target)?.collect()
}

/// The first three columns.
fn target(row: &Row<'_>) -> rusqlite::Result<TargetId> {
    Ok(TargetId { package: row.get(0)?, kind: enumerated::<TargetKind>(row, 1)?, name: row.get(2)? })
}

pub fn all_skipped(connection: &Connection) -> rusqlite::Result<Vec<SkippedRow>> {
    let mut statement = connection.prepare("SELECT commit_id, terms, machine, why FROM skipped ORDER BY rowid")?;
    let read = |row: &Row<'_>| {
        Ok(SkippedRow { commit: row.get(0)?, terms: row.get(1)?, machine: row.get(2)?, why: row.get(3)? })
    };
    statement.query_map([], read)?.collect()
}

/// The tests of a step, in the order of their names.
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

/// Adds a step with its tests; false if there is one already.
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

/// The number of words that stand once, new or not.
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

/// Units of figures, in which they are whole numbers.
const BILLIONTHS: f64 = 1e9;
const MILLIONTHS: f64 = 1e6;
/// Of a ns.
const PICOSECONDS: f64 = 1e3;

/// A figure in units; the largest numbers stand for what is infinite, nothing for what is no number.
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
        verdict: enumerated(row, 4)?,
        reason: enumerated_if_any(row, 5)?,
        figures,
        function: row.get(13)?,
        test_code: enumerated_if_any(row, 14)?,
        metrics: metrics.map(|name| Metric::named(name).ok_or_else(|| unknown(15, name))).collect::<Result<_, _>>()?,
    })
}

fn enumerated<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let word = row.get_ref(column)?.as_str()?;
    let deserializer: StrDeserializer<'_, serde::de::value::Error> = word.into_deserializer();
    T::deserialize(deserializer).map_err(|_| unknown(column, word))
}

/// A word of [`outcome`](OUTCOME), which is empty where there is none.
fn enumerated_if_any<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<T>> {
    if row.get_ref(column)?.as_str()?.is_empty() { Ok(None) } else { enumerated(row, column).map(Some) }
}

fn unknown(column: usize, word: &str) -> rusqlite::Error {
    let why = format!("unknown word `{word}`");
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, why.into())
}
