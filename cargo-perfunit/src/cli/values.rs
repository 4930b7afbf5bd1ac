//! Values with units, as people type them.

use crate::model::Metric;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::time::Duration;

/// Far more than anybody waits, and far less than what overflows a clock.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// `500ms`, `10s`, `2m`, `1h`; a number alone is seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().map_err(|_| format!("`{text}` is no duration: try 500ms, 10s or 2m"))?;
    let seconds = match unit.trim() {
        "ms" => number / 1000.0,
        "" | "s" => number,
        "m" | "min" => number * 60.0,
        "h" => number * 3600.0,
        _ => return Err(format!("`{unit}` is no unit of time: use ms, s, m or h")),
    };
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if duration.is_zero() => Err("must be more than nothing".to_owned()),
        Ok(duration) if duration <= LONGEST => Ok(duration),
        _ => Err(format!("`{text}` is longer than a year")),
    }
}

/// `10%`, or `0.1` as a fraction; more than 0 and less than 100 %.
pub fn threshold(text: &str) -> Result<f64, String> {
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    let number: f64 = number.trim().parse().map_err(|_| format!("`{text}` is no threshold: try 10% or 0.1"))?;
    let fraction = number / scale;
    if fraction > 0.0 && fraction < 1.0 {
        Ok(fraction)
    } else {
        Err(format!("`{text}` must be more than 0 and less than 100 %: try 10%"))
    }
}

/// The name of a metric; clap names the nearest one for a word that is none.
pub fn metric() -> impl TypedValueParser<Value = Metric> {
    PossibleValuesParser::new(Metric::ALL.map(Metric::name))
        .try_map(|name| Metric::named(&name).ok_or_else(|| format!("`{name}` is no metric")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("10"), Ok(Duration::from_secs(10)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert!(duration("0s").is_err() && duration("10x").is_err() && duration("").is_err());
        assert!(duration("9000h").is_err() && duration("4000000000000000h").is_err());
    }

    #[test]
    fn thresholds_are_percentages_or_fractions() {
        assert_eq!(threshold("10%"), Ok(0.1));
        assert_eq!(threshold("0.05"), Ok(0.05));
        assert!(threshold("10").is_err() && threshold("0%").is_err() && threshold("x").is_err());
    }
}
