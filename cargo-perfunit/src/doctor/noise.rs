//! Measures how quiet the machine is, in about two seconds.

use super::workload;
use perfunit_decide as decide;
use perfunit_measure::cores::{self, Spin};
use perfunit_measure::quietest;
use perfunit_model::checkup::{CoreNoise, Noise};
use perfunit_system::progress::Progress;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Number of cores to measure: all of a small machine, the last ones of a large machine.
const CORES: usize = 4;
/// Time to measure each core.
const SPUN: Duration = Duration::from_millis(250);
/// Time to measure fixed work.
const WORKED: Duration = Duration::from_millis(300);
/// Steps in a piece of fixed work, which takes about 0.1 ms.
const STEPS: u64 = 100_000;

/// Measures the noise on some of the usable cores.
pub fn measure(allowed: &[usize], progress: &Progress) -> Noise {
    let looked_at = &allowed[allowed.len().saturating_sub(CORES)..];
    let cores = looked_at.iter().filter_map(|core| Some(core_noise(*core, &cores::spin(*core, SPUN)?))).collect();
    let quiet = quietest(allowed);
    let times = quiet.and_then(|core| cores::on_core(core, fixed_work));
    let against_itself = Some(workload::against_itself(progress));
    Noise { cores, work_spread: times.and_then(|mut times| spread(&mut times)), against_itself }
}

fn core_noise(core: usize, spin: &Spin) -> CoreNoise {
    CoreNoise {
        core,
        gaps_per_second: spin.gaps_per_second(),
        lost: spin.lost_share(),
        longest_ns: spin.longest.as_nanos() as f64,
    }
}

/// Measures the times in ns of equal pieces of work that need neither memory nor the kernel.
fn fixed_work() -> Vec<f64> {
    let end = Instant::now() + WORKED;
    let mut times = Vec::with_capacity(16_384);
    while Instant::now() < end {
        let started = Instant::now();
        let mut state = black_box(1_u64);
        for step in 0..STEPS {
            state = black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(step));
        }
        black_box(state);
        times.push(started.elapsed().as_nanos() as f64);
    }
    times
}

fn spread(times: &mut [f64]) -> Option<f64> {
    let best = decide::quantile(times, 0.1);
    let median = decide::quantile(times, 0.5);
    Some(median / best - 1.0).filter(|spread| spread.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_is_relative_to_undisturbed_work() {
        let mut times: Vec<f64> = (0..=100).map(|step| 100.0 + f64::from(step)).collect();
        assert!((spread(&mut times).unwrap() - (150.0 / 110.0 - 1.0)).abs() < 1e-9);
        assert_eq!(spread(&mut []), None);
    }
}
