//! One call of a test on each side, whose functions leave how much they did on inputs of which length.

use super::bench::{Bench, Config};
use super::lockstep::{self, Task};
use super::running::Pads;
use super::subject::Subject;
use super::work_tables::CountedWork;
use perfunit_build::SideBuild;
use perfunit_model::error::{Stop, Tried};
use perfunit_model::{Harness, NotCounted, Side, Sides};
use perfunit_runtime::page::state;
use perfunit_system::interrupt;
use std::time::{Duration, Instant};

/// What the functions of both sides did in the first call of a test, with equal random numbers; or why that is not known.
/// The bench has the tables.
pub fn counted(
    bench: &Bench,
    config: &Config,
    sides: &Sides<&SideBuild>,
    subject: &Subject<'_>,
    random: &mut fastrand::Rng,
) -> Tried<Sides<Vec<CountedWork>>, NotCounted> {
    if Side::BOTH.iter().any(|side| subject.executables.get(*side).harness == Harness::Own) {
        return Err(Stop::Because(NotCounted::OwnHarness));
    }
    let left = config.deadline.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
    let limit = config.timeout.min(left);
    let pads = Pads::draw(random);
    let end = lockstep::run(bench, &subject.programs(sides), Task::Growth, pads, limit)?;
    if interrupt::requested() || end.timed_out.is_some() {
        return Err(Stop::Because(NotCounted::TimedOut { seconds: limit.as_secs_f64() }));
    }
    for side in Side::BOTH {
        let end = end.sides.get(side);
        if end.state != state::DONE {
            return Err(Stop::Because(NotCounted::Fails { side, how: end.failure() }));
        }
    }
    let tables = bench.tables.borrow();
    Ok(tables.as_ref().map(super::work_tables::WorkTables::read).unwrap_or_default())
}
