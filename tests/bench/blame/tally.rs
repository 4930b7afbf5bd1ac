//! Tables of all results.

use super::bound;
use super::injection::Kind;
use super::told::{Row, Told};
use std::collections::BTreeSet;

/// Returns a table with a row per kind, per time of a loop, and for all.
pub fn table(rows: &[Row]) -> String {
    let mut lines = vec![
        "| injection | made | flagging | slower tests | explained | right first | in three | none named | wrong first | median s | max s |"
            .to_owned(),
        "|-|-|-|-|-|-|-|-|-|-|-|".to_owned(),
    ];
    for kind in Kind::ALL {
        let of_kind: Vec<&Row> = rows.iter().filter(|row| row.kind == kind).collect();
        // Times are numbers, so the shorter text is the smaller time.
        let mut effects: Vec<&str> = of_kind.iter().map(|row| row.effect.as_str()).collect();
        effects.sort_by_key(|effect| (effect.len(), effect.to_owned()));
        effects.dedup();
        for effect in effects.into_iter().filter(|_| matches!(kind, Kind::Busy | Kind::Leaf)) {
            let rows: Vec<&Row> = of_kind.iter().filter(|row| row.effect == effect).copied().collect();
            lines.push(line(&format!("{}, {effect}", kind.word()), &rows));
        }
        if !of_kind.is_empty() {
            lines.push(line(&kind.word(), &of_kind));
        }
    }
    lines.push(line("all", &rows.iter().collect::<Vec<_>>()));
    lines.join("\n")
}

fn line(name: &str, rows: &[&Row]) -> String {
    let rows: Vec<&&Row> = rows.iter().filter(|row| row.refused.is_none()).collect();
    let tests: Vec<&Told> = rows.iter().flat_map(|row| &row.tests).collect();
    let count = |is: &dyn Fn(&Told) -> bool| tests.iter().filter(|test| is(test)).count();
    let within = |rank: usize| rows.iter().map(|row| row.within(rank)).sum::<usize>();
    let mut seconds: Vec<f64> = tests.iter().filter_map(|test| test.seconds).collect();
    seconds.sort_by(f64::total_cmp);
    let at = |seconds: Option<&f64>| seconds.map_or("-".to_owned(), |seconds| format!("{seconds:.1}"));
    let figures = [
        rows.len().to_string(),
        rows.iter().filter(|row| !row.tests.is_empty()).count().to_string(),
        tests.len().to_string(),
        count(&|test| test.explained).to_string(),
        within(1).to_string(),
        within(3).to_string(),
        count(&|test| test.explained && test.named == 0).to_string(),
        count(&Told::is_wrong).to_string(),
        at(seconds.get(seconds.len() / 2)),
        at(seconds.last()),
    ];
    format!("| {name} | {} |", figures.join(" | "))
}

/// Returns shares of the explained tests with their bounds, and of the injections, because tests of one injection are
/// not independent.
pub fn bounds(rows: &[Row]) -> String {
    let explained = |row: &Row| row.tests.iter().filter(|test| test.explained).count();
    let rows: Vec<&Row> = rows.iter().filter(|row| row.refused.is_none() && explained(row) > 0).collect();
    let tests: usize = rows.iter().map(|row| explained(row)).sum();
    let missed = |rank: usize| {
        let found: usize = rows.iter().map(|row| row.within(rank)).sum();
        let injections = rows.iter().filter(|row| row.within(rank) < explained(row)).count();
        format!(
            "{} of the explained tests, in {} of the injections",
            bound::share(tests - found, tests),
            bound::share(injections, rows.len())
        )
    };
    let wrong: usize = rows.iter().flat_map(|row| &row.tests).filter(|test| test.is_wrong()).count();
    [
        format!("not right first: {}", missed(1)),
        format!("not in three: {}", missed(3)),
        format!("wrong first: {}", bound::share(wrong, tests)),
    ]
    .join("\n")
}

/// Returns every test with a wrong first function, and its explanation.
pub fn misses(rows: &[Row]) -> String {
    let mut lines = Vec::new();
    let mut seen = BTreeSet::new();
    for row in rows.iter().filter(|row| row.refused.is_none()) {
        for test in row.tests.iter().filter(|test| test.rank != Some(1)) {
            let nobody = if test.explained { "nobody" } else { "not explained" };
            let told = test.first.clone().unwrap_or_else(|| nobody.to_owned());
            let rank = test.rank.map_or(String::new(), |rank| format!(" (the guilty one is number {rank})"));
            let notes = test.notes.join("; ");
            let change = 100.0 * test.change.unwrap_or(f64::NAN);
            // A test may be in several targets.
            if seen.insert((&row.key, &test.test)) {
                lines.push(format!(
                    "{}, {}, {}: {} {change:+.1} %: {told}{rank} [{} pairs; {notes}]",
                    row.kind.word(),
                    row.effect,
                    row.place,
                    test.test,
                    test.pairs
                ));
            }
        }
    }
    lines.join("\n")
}
