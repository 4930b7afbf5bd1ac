//! Words for numbers and names: durations, percentages, counts, commits.

use crate::{Change, Engine, WorkUnit};
use std::time::Duration;

/// Replacement for a figure that is not finite.
const UNKNOWN: &str = "?";

/// Characters that a terminal can show: beyond ASCII, or their replacements.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Glyphs {
    /// `µs`, `→`, `─`.
    Unicode,
    /// `us`, `->`, `-`.
    #[default]
    Ascii,
}

impl Glyphs {
    fn pick<'a>(self, unicode: &'a str, ascii: &'a str) -> &'a str {
        match self {
            Glyphs::Unicode => unicode,
            Glyphs::Ascii => ascii,
        }
    }

    /// Returns the arrow from base to head.
    pub fn arrow(self) -> &'static str {
        self.pick("→", "->")
    }

    /// Returns the sign of a bound in both directions.
    pub fn plus_minus(self) -> &'static str {
        if self == Self::Unicode { "±" } else { "+-" }
    }

    /// Returns one column of a horizontal line.
    pub fn bar(self) -> &'static str {
        self.pick("─", "-")
    }
}

/// Formats a time of `ns` nanoseconds with three significant digits and its unit: `1.21 µs`, `12.1 ms`, `121 s`.
pub fn duration(ns: f64, glyphs: Glyphs) -> String {
    if !ns.is_finite() {
        return UNKNOWN.to_owned();
    }
    let units = [(1.0, "ns"), (1e3, glyphs.pick("µs", "us")), (1e6, "ms")];
    // 999.5 would round to four digits, so it belongs to the next unit.
    let (scale, unit) = units.into_iter().find(|(scale, _)| ns.abs() / scale < 999.5).unwrap_or((1e9, "s"));
    let value = ns / scale;
    let decimals = match value.abs() {
        size if size == 0.0 || size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 => 2,
        _ => 3,
    };
    format!("{value:.decimals$} {unit}")
}

/// Formats the cost of a run in the unit of an engine.
pub fn cost(cost: f64, engine: Engine, glyphs: Glyphs) -> String {
    match engine {
        Engine::Probes | Engine::SystemTime => duration(cost, glyphs),
        // Means over varying calls can be fractions.
        Engine::Callgrind => format!("{} instr", large_count(cost.round())),
        Engine::SystemCalls => format!("{} syscalls", large_count(cost.round())),
    }
}

/// Returns the width of a column of [`cost`]s.
pub fn cost_width(engine: Engine) -> usize {
    match engine {
        Engine::Probes | Engine::SystemTime => 9,
        Engine::Callgrind | Engine::SystemCalls => 12,
    }
}

/// Formats a number of bytes, with three significant digits from one KiB: `640 B`, `1.20 KiB`.
pub fn bytes(bytes: f64) -> String {
    format_scaled(bytes, 1024.0, 1024.0, ["B", "KiB", "MiB", "GiB"])
}

/// Formats a throughput: `1.20 GB/s`, `35.0 Melem/s`.
pub fn rate(per_second: f64, unit: WorkUnit) -> String {
    let units = match unit {
        WorkUnit::Bytes => ["B/s", "kB/s", "MB/s", "GB/s"],
        WorkUnit::Elements => ["elem/s", "kelem/s", "Melem/s", "Gelem/s"],
        WorkUnit::Chars => ["char/s", "kchar/s", "Mchar/s", "Gchar/s"],
        WorkUnit::Bits => ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"],
        WorkUnit::Cycles => ["Hz", "kHz", "MHz", "GHz"],
    };
    format_scaled(per_second, 1e3, 1e3, units)
}

/// Formats a number of events, exactly while it is readable: `0`, `99999`, `1.23 M`.
pub fn large_count(count: f64) -> String {
    format_scaled(count, 1e5, 1e3, ["", "k", "M", "G"]).trim_end().to_owned()
}

/// Formats a value in full below `exact`, otherwise with three significant digits in the first unit in which it is
/// below `step`.
fn format_scaled(value: f64, exact: f64, step: f64, units: [&str; 4]) -> String {
    if !value.is_finite() {
        return UNKNOWN.to_owned();
    }
    if value.abs() < exact {
        return format!("{value:.0} {}", units[0]);
    }
    let mut scaled = value;
    let mut unit = 0;
    while scaled.abs() >= step.min(999.5) && unit + 1 < units.len() {
        scaled /= step;
        unit += 1;
    }
    let decimals = if scaled.abs() >= 99.95 { 0 } else { 1 + usize::from(scaled.abs() < 9.995) };
    format!("{scaled:.decimals$} {}", units[unit])
}

/// Formats a difference of `ns` nanoseconds with its sign, with the precision of two times of three digits: `+1.2 ns`,
/// `-0.35 ns`.
pub fn difference(ns: f64) -> String {
    format_signed(ns, "ns")
}

/// Formats the number of calls in a run, or their mean; whole numbers without decimals.
pub fn calls(calls: f64) -> String {
    if (calls - calls.round()).abs() < 0.005 || calls >= 100.0 { format!("{calls:.0}") } else { format!("{calls:.2}") }
}

/// Formats a fraction as a signed percentage with one decimal, two below 1 %, and none of at least 1000 %: `+30.6 %`,
/// `-0.42 %`, `+1812 %`.
pub fn percent(fraction: f64) -> String {
    let percent = fraction * 100.0;
    if percent.is_finite() && percent.abs() >= 999.95 {
        format!("{percent:+.0} %")
    } else {
        format_signed(percent, "%")
    }
}

/// Formats a fraction as a percentage without a sign: `3.1 %`, `0.42 %`.
pub fn magnitude(fraction: f64) -> String {
    percent(fraction.abs()).trim_start_matches('+').to_owned()
}

/// Formats a threshold as typed: `10 %`, `2.5 %`, `0.33 %`.
pub fn threshold(fraction: impl Into<f64>) -> String {
    let fraction = fraction.into();
    if !fraction.is_finite() {
        return UNKNOWN.to_owned();
    }
    let digits = format!("{:.2}", fraction * 100.0);
    format!("{} %", digits.trim_end_matches('0').trim_end_matches('.'))
}

fn format_signed(value: f64, unit: &str) -> String {
    if !value.is_finite() {
        return UNKNOWN.to_owned();
    }
    // Values that round to 1.00 have one decimal, like larger ones.
    let decimals = if value.abs() < 0.995 { 2 } else { 1 };
    let text = format!("{value:+.decimals$} {unit}");
    // Zero has no direction.
    if let Some(zero) = text.strip_prefix("-0.00") { format!("+0.00{zero}") } else { text }
}

/// Formats a p value: `p = 0.013`, `p < 0.0001`.
pub fn p_value(p: f64) -> String {
    if p < 1e-4 {
        "p < 0.0001".to_owned()
    } else if p.is_finite() {
        format!("p = {p:.*}", if p < 0.0095 { 4 } else { 3 })
    } else {
        format!("p = {UNKNOWN}")
    }
}

/// Formats a number without unit, such as Cohen's d, with two decimals.
pub fn number(value: f64) -> String {
    if value.is_finite() { format!("{value:.2}") } else { UNKNOWN.to_owned() }
}

/// Formats wall time: `8.3 s`, `2 min 5 s`.
pub fn seconds(time: Duration) -> String {
    if time.as_secs_f64() < 59.95 {
        return format!("{:.1} s", time.as_secs_f64());
    }
    let whole = (time + Duration::from_millis(500)).as_secs();
    format!("{} min {} s", whole / 60, whole % 60)
}

/// Formats a time limit as typed: `10 s`, `0.5 s`, `1 ms`.
pub fn limit(seconds: f64) -> String {
    if seconds < 0.01 {
        return format!("{} ms", (seconds * 1e5).round() / 100.0);
    }
    format!("{} s", (seconds * 100.0).round() / 100.0)
}

/// Formats a count with its noun, which forms its plural by `s`: `1 test`, `31 tests`.
pub fn count(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// Formats the interval of a change: `[+24.0 %, +26.0 %]`.
pub fn interval(change: Change) -> String {
    format!("[{}, {}]", percent(change.low), percent(change.high))
}

/// Formats a change with its interval: `+25.0 % [+24.0 %, +26.0 %]`.
pub fn with_interval(change: Change) -> String {
    format!("{} {}", percent(change.estimate), interval(change))
}

/// Returns the first seven characters of a commit id, as git shortens it.
pub fn short_commit(id: &str) -> &str {
    id.get(..7).unwrap_or(id)
}

/// Returns text of unknown origin (a panic message, a path) on one line, without escape sequences and control characters.
pub fn one_line(text: &str) -> String {
    let plain = without_escapes(text).replace(char::is_control, " ");
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns text without ANSI control sequences.
pub fn without_escapes(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

/// Returns true for characters that hide or reorder other text: a name could pass for another one.
pub fn is_deceptive(c: char) -> bool {
    let reorders = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    reorders || c.is_control() && !matches!(c, '\n' | '\t')
}

/// Returns text with a capital letter and a full stop.
pub fn sentence(text: &str) -> String {
    let mut rest = text.chars();
    let first = rest.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", rest.as_str())
}

/// Returns the first three of a list, and how many more there are.
pub fn some(list: impl ExactSizeIterator<Item = String>) -> String {
    first(list, 3, |more| format!("{more} more"))
}

/// Returns the first `shown` of a list, and `others` of the number of the rest.
pub fn first(
    list: impl ExactSizeIterator<Item = String>,
    shown: usize,
    others: impl FnOnce(usize) -> String,
) -> String {
    let more = list.len().saturating_sub(shown);
    let shown = list.take(shown).collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{shown} and {}", others(more)) } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check<T: Copy>(show: impl Fn(T) -> String, cases: &[(T, &str)]) {
        for &(value, expected) in cases {
            assert_eq!(show(value), expected);
        }
    }

    #[test]
    fn durations_have_three_significant_digits() {
        check(
            |ns| duration(ns, Glyphs::Unicode),
            &[
                (0.0, "0 ns"),
                (0.412_3, "0.412 ns"),
                (0.999_7, "1.00 ns"),
                (1.234, "1.23 ns"),
                (12.34, "12.3 ns"),
                (99.96, "100 ns"),
                (999.4, "999 ns"),
                (999.6, "1.00 µs"),
                (1_580.0, "1.58 µs"),
                (2.5e6, "2.50 ms"),
                (1.21e9, "1.21 s"),
                (1.5e12, "1500 s"),
                (f64::NAN, "?"),
                (f64::INFINITY, "?"),
            ],
        );
        assert_eq!(duration(1_580.0, Glyphs::Ascii), "1.58 us");
    }

    #[test]
    fn amounts_are_exact_while_they_are_small() {
        check(
            bytes,
            &[
                (0.0, "0 B"),
                (1023.0, "1023 B"),
                (1024.0, "1.00 KiB"),
                (1228.8, "1.20 KiB"),
                (1_048_000.0, "1.00 MiB"),
                (f64::NAN, "?"),
            ],
        );
        check(
            large_count,
            &[(0.0, "0"), (99_999.0, "99999"), (123_456.0, "123 k"), (1.234e6, "1.23 M"), (5e12, "5000 G")],
        );
    }

    #[test]
    fn percentages_are_signed_and_finer_below_one() {
        check(
            percent,
            &[
                (0.306, "+30.6 %"),
                (-0.5, "-50.0 %"),
                (0.0042, "+0.42 %"),
                (0.00996, "+1.0 %"),
                (0.0, "+0.00 %"),
                (-0.000_001, "+0.00 %"),
                (9.99, "+999.0 %"),
                (49.0, "+4900 %"),
                (f64::NAN, "?"),
            ],
        );
        check(magnitude, &[(-0.031, "3.1 %"), (0.002, "0.20 %"), (f64::INFINITY, "?")]);
    }

    #[test]
    fn thresholds_read_as_typed() {
        check(threshold, &[(0.1, "10 %"), (0.02, "2 %"), (0.025, "2.5 %"), (0.0033, "0.33 %"), (f64::NAN, "?")]);
    }

    #[test]
    fn differences_have_as_many_digits_as_times_allow() {
        check(difference, &[(1.23, "+1.2 ns"), (-0.351, "-0.35 ns"), (12.0, "+12.0 ns")]);
    }

    #[test]
    fn p_values_do_not_pretend_to_be_zero() {
        check(p_value, &[(0.0, "p < 0.0001"), (0.000_52, "p = 0.0005"), (0.013, "p = 0.013"), (f64::NAN, "p = ?")]);
    }

    #[test]
    fn wall_time_has_minutes() {
        check(|s| seconds(Duration::from_secs_f64(s)), &[(0.04, "0.0 s"), (8.31, "8.3 s"), (124.6, "2 min 5 s")]);
        assert_eq!(seconds(Duration::from_secs_f64(59.97)), "1 min 0 s");
    }

    #[test]
    fn one_has_no_plural() {
        check(|n| count(n, "test"), &[(0, "0 tests"), (1, "1 test"), (2, "2 tests")]);
    }

    #[test]
    fn commits_are_shortened_to_seven() {
        check(|c| short_commit(c).to_owned(), &[("3f2a91c0aa", "3f2a91c"), ("3f2", "3f2"), ("", "")]);
    }

    #[test]
    fn foreign_text_stays_on_its_line_and_brings_no_colors() {
        check(one_line, &[("a\n  \u{1b}[1;31mred\u{1b}[0m\tb\u{7}", "a red b"), ("cut \u{1b}[3", "cut")]);
    }
}
