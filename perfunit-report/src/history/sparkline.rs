//! A course in characters.

use perfunit_model::Point;
use perfunit_model::format::Glyphs;

/// Columns at most.
const WIDEST: usize = 40;
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII: [char; 8] = ['_', '.', ':', '-', '=', '+', '*', '#'];

/// A column for each commit, or for several where there are many: the higher, the slower; `?` where nothing is known.
pub fn sparkline(points: &[Point], glyphs: Glyphs) -> String {
    let levels = if glyphs == Glyphs::Unicode { LEVELS } else { ASCII };
    let log = |point: &Point| point.ratio.max(f64::MIN_POSITIVE).ln();
    let low = points.iter().map(log).fold(0.0, f64::min);
    let high = points.iter().map(log).fold(0.0, f64::max);
    let level = |point: &Point| {
        let part = if high > low { (log(point) - low) / (high - low) } else { 0.0 };
        levels[(part * (LEVELS.len() - 1) as f64).round() as usize]
    };
    let each = points.len().div_ceil(WIDEST).max(1);
    points
        .chunks(each)
        .filter_map(<[Point]>::last)
        .map(|point| if point.is_known { level(point) } else { '?' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(ratios: &[f64]) -> Vec<Point> {
        ratios.iter().map(|ratio| Point { ratio: *ratio, ..Point::START }).collect()
    }

    #[test]
    fn slower_is_higher_and_the_first_level_is_that_before_the_first_commit() {
        assert_eq!(sparkline(&points(&[1.0, 1.1, 1.21, 1.0]), Glyphs::Unicode), "▁▅█▁");
        assert_eq!(sparkline(&points(&[1.0, 1.1, 1.21, 1.0]), Glyphs::Ascii), "_=#_");
        assert_eq!(sparkline(&points(&[1.0, 0.5]), Glyphs::Unicode), "█▁");
        assert_eq!(sparkline(&points(&[1.0, 1.0]), Glyphs::Unicode), "▁▁");
        assert_eq!(sparkline(&[Point { is_known: false, ..Point::START }], Glyphs::Unicode), "?");
    }

    #[test]
    fn many_commits_share_columns() {
        let line = sparkline(&points(&[1.0; 1000]), Glyphs::Unicode);
        assert_eq!(line.chars().count(), WIDEST);
    }
}
