//! What share of a run was measured here, or on which machines the shares of a whole one were.

use super::screen::{INDENT, Screen};
use super::style::{GOOD, STRONG, Text};
use perfunit_model::format::{count, one_line};
use perfunit_model::{Part, Run, Sharding};
use std::collections::BTreeMap;

/// Writes it; nothing for a run in one piece.
pub fn write(run: &Run, screen: &mut Screen) {
    let Some(sharding) = &run.sharding else { return };
    match (sharding.single(), &sharding.parts[..]) {
        (Some(partition), [part]) if sharding.shards > 1 => {
            let all = count(sharding.candidates.len(), "test");
            let text = Text::new(STRONG, partition.to_string())
                .and(format!(": {} of {all}; `cargo perfunit merge` joins the shards", part.tests));
            screen.status("Shard", GOOD, &text);
        }
        _ => merged(sharding, screen),
    }
}

fn merged(sharding: &Sharding, screen: &mut Screen) {
    let tests = count(sharding.candidates.len(), "test");
    let text = Text::new(STRONG, count(sharding.parts.len(), "shard")).and(format!(" by {}, {tests}", sharding.kind));
    screen.status("Merged", GOOD, &text);
    let machines = machines(sharding);
    if machines.len() > 1 {
        for (machine, parts) in machines {
            let numbers: Vec<String> = parts.iter().map(|part| part.shard.to_string()).collect();
            let tests = count(parts.iter().map(|part| part.tests).sum(), "test");
            screen.below(INDENT, &Text::plain(format!("{}: {machine}, {tests}", shards(&numbers))));
        }
    }
}

fn shards(numbers: &[String]) -> String {
    let plural = if numbers.len() == 1 { "" } else { "s" };
    format!("shard{plural} {}", numbers.join(", "))
}

/// The shards by what they were measured on and with.
fn machines(sharding: &Sharding) -> BTreeMap<String, Vec<&Part>> {
    let mut machines: BTreeMap<String, Vec<&Part>> = BTreeMap::new();
    for part in &sharding.parts {
        let machine = one_line(&format!("{} ({})", part.environment.cpu, part.environment.host));
        machines.entry(machine).or_default().push(part);
    }
    machines
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::format::{Glyphs, without_escapes};
    use perfunit_model::samples::{run, test};
    use perfunit_model::{Environment, PartitionKind};
    use std::collections::BTreeSet;

    #[track_caller]
    fn check(shards: usize, cpus: &[&str], expected: &str) {
        let mut run = run(Vec::new());
        let part = |(index, cpu): (usize, &&str)| Part {
            shard: index + 1,
            tests: 2,
            environment: Environment { cpu: (*cpu).to_owned(), ..run.environment.clone() },
            stages: run.stages,
            interrupted: false,
        };
        let parts = cpus.iter().enumerate().map(part).collect();
        let candidates = ["a", "b", "c", "d", "e", "f"].map(test).to_vec();
        run.sharding =
            Some(Sharding { kind: PartitionKind::Slice, shards, candidates, parts, led_to: BTreeSet::new() });
        let mut screen = Screen::new(0, Glyphs::Ascii);
        write(&run, &mut screen);
        assert_eq!(without_escapes(&screen.finish()), expected);
    }

    #[test]
    fn a_shard_says_how_much_of_the_whole_it_is() {
        check(3, &["Xeon"], "       Shard  slice:1/3: 2 of 6 tests; `cargo perfunit merge` joins the shards\n");
    }

    #[test]
    fn machines_are_told_where_they_differ() {
        check(3, &["Xeon", "Xeon", "Xeon"], "      Merged  3 shards by slice, 6 tests\n");
        let expected = [
            "      Merged  3 shards by slice, 6 tests",
            "              shard 2: EPYC (x86_64-unknown-linux-gnu), 2 tests",
            "              shards 1, 3: Xeon (x86_64-unknown-linux-gnu), 4 tests",
            "",
        ];
        check(3, &["Xeon", "EPYC", "Xeon"], &expected.join("\n"));
    }
}
