//! Formats and parses dates.

use chrono::{DateTime, Datelike as _, Days, Months, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Utc};
use std::time::SystemTime;

/// Formats a moment like `2026-11-21 19:24 UTC`.
pub fn utc(moment: SystemTime) -> String {
    shown(moment, "%Y-%m-%d %H:%M UTC")
}

/// Formats a moment like `20261121T192405Z`, for names that sort by time.
pub fn stamp(moment: SystemTime) -> String {
    shown(moment, "%Y%m%dT%H%M%SZ")
}

/// Formats seconds since 1970 like `2026-11-21`.
pub fn day(seconds: i64) -> String {
    moment(seconds).format("%Y-%m-%d").to_string()
}

/// Returns the day of today in UTC.
pub fn today() -> String {
    day(seconds(SystemTime::now()))
}

/// Returns whether a text is a day of the calendar, as [`day`] writes it. Such days sort by time.
pub fn is_day(text: &str) -> bool {
    text.parse::<NaiveDate>().is_ok_and(|date| date.to_string() == text)
}

/// Parses `2024-05-01`, `2024-05-01 12:00`, `2024-05-01T12:00:00Z`, `yesterday` or `2 weeks ago` to seconds since 1970.
/// Days begin in UTC.
pub fn past(text: &str, now: SystemTime) -> Option<i64> {
    // Git also accepts `2.weeks.ago`.
    let words = text.trim().to_ascii_lowercase();
    let words = words.strip_suffix(".ago").map_or(words.clone(), |start| format!("{} ago", start.replace('.', " ")));
    // Only a moment has a T, between day and time.
    let written = words.replacen('t', " ", 1);
    let with_zone = |format| DateTime::parse_from_str(&written, format).ok().map(|moment| moment.to_utc());
    let without = |format| NaiveDateTime::parse_from_str(&written, format).ok().map(|moment| moment.and_utc());
    let moment = with_zone("%Y-%m-%d %H:%M:%S%.f%#z")
        .or_else(|| with_zone("%Y-%m-%d %H:%M%#z"))
        .or_else(|| without("%Y-%m-%d %H:%M:%S%.f"))
        .or_else(|| without("%Y-%m-%d %H:%M"))
        .or_else(|| words.parse::<NaiveDate>().ok().map(|day| day.and_time(NaiveTime::MIN).and_utc()))
        .or_else(|| before(moment(seconds(now)), &words))?;
    Some(moment.timestamp())
}

/// Returns the moment that words like `2 weeks ago` name.
fn before(now: DateTime<Utc>, words: &str) -> Option<DateTime<Utc>> {
    let (number, unit) = match words.split_whitespace().collect::<Vec<_>>()[..] {
        ["now"] => return Some(now),
        ["yesterday"] => (1, "day"),
        ["last", unit] | ["a" | "an", unit, "ago"] => (1, unit),
        // A larger number would reach back beyond any commit.
        [number, unit, "ago"] => (number.parse::<u16>().ok()?, unit),
        _ => return None,
    };
    let days = |days| now.checked_sub_days(Days::new(u64::from(number) * days));
    let months = |months| now.checked_sub_months(Months::new(u32::from(number) * months));
    match unit.strip_suffix('s').unwrap_or(unit) {
        "second" => now.checked_sub_signed(TimeDelta::seconds(i64::from(number))),
        "minute" => now.checked_sub_signed(TimeDelta::minutes(i64::from(number))),
        "hour" => now.checked_sub_signed(TimeDelta::hours(i64::from(number))),
        "day" => days(1),
        "week" => days(7),
        "month" => months(1),
        "year" => months(12),
        _ => None,
    }
}

fn shown(time: SystemTime, format: &str) -> String {
    moment(seconds(time)).format(format).to_string()
}

fn seconds(moment: SystemTime) -> i64 {
    moment.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs().cast_signed())
}

/// Returns the moment this many seconds after 1970, or 1970 for a clock that is wrong by thousands of years.
fn moment(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_secs(seconds).filter(|moment| (0..10_000).contains(&moment.year())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    #[track_caller]
    fn check(seconds: u64, expected: &str) {
        assert_eq!(utc(UNIX_EPOCH + Duration::from_secs(seconds)), expected);
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        check(0, "1970-01-01 00:00 UTC");
        check(951_782_400, "2000-02-29 00:00 UTC");
        check(1_700_000_000, "2023-11-14 22:13 UTC");
        check(4_107_542_399, "2100-02-28 23:59 UTC");
        check(4_107_542_400, "2100-03-01 00:00 UTC");
    }

    #[test]
    fn stamps_go_to_the_second() {
        assert_eq!(stamp(UNIX_EPOCH + Duration::from_secs(1_700_000_075)), "20231114T221435Z");
    }

    #[test]
    fn a_day_has_one_form() {
        assert!(is_day("2024-02-29") && is_day(&today()));
        for text in ["2023-02-29", "2024-2-29", "2024-02-29 12:00", "20240229", "tomorrow", ""] {
            assert!(!is_day(text), "{text}");
        }
    }

    #[test]
    fn moments_of_the_past_are_understood_as_git_takes_them() {
        let now = UNIX_EPOCH + Duration::from_hours(475_524); // 2024-03-31 12:00 UTC
        let back = |text: &str| past(text, now).map(|seconds| utc(UNIX_EPOCH + Duration::from_secs(seconds as u64)));
        for (text, moment) in [
            ("2024-02-01", "2024-02-01 00:00 UTC"),
            ("2024-02-01 18:30", "2024-02-01 18:30 UTC"),
            ("2024-02-01T18:30:00", "2024-02-01 18:30 UTC"),
            ("2024-02-01T18:30:00Z", "2024-02-01 18:30 UTC"),
            ("2024-02-01t18:30:00+02:00", "2024-02-01 16:30 UTC"),
            ("yesterday", "2024-03-30 12:00 UTC"),
            ("2 weeks ago", "2024-03-17 12:00 UTC"),
            ("2.weeks.ago", "2024-03-17 12:00 UTC"),
            ("90 Minutes ago", "2024-03-31 10:30 UTC"),
            ("a month ago", "2024-02-29 12:00 UTC"),
            ("last year", "2023-03-31 12:00 UTC"),
            ("now", "2024-03-31 12:00 UTC"),
        ] {
            assert_eq!(back(text).as_deref(), Some(moment), "{text}");
        }
        for text in
            ["", "soon", "2024-13-01", "2 weeks", "weeks ago", "-1 days ago", "1 fortnight ago", "99999999 years ago"]
        {
            assert_eq!(past(text, now), None, "{text}");
        }
    }
}
