//! A moment as people write it.

use std::time::{SystemTime, UNIX_EPOCH};

const SECONDS_PER_DAY: u64 = 24 * 60 * 60;
/// Days of 400 years of the Gregorian calendar.
const DAYS_PER_ERA: u64 = 146_097;
/// From 0000-03-01, where the count by eras begins, to 1970-01-01.
const DAYS_BEFORE_EPOCH: u64 = 719_468;

pub fn utc(moment: SystemTime) -> String {
    let ([year, month, day], [hours, minutes, _]) = parts(moment);
    format!("{year:04}-{month:02}-{day:02} {hours:02}:{minutes:02} UTC")
}

/// `20261121T192405Z`: for names that sort by time.
pub fn stamp(moment: SystemTime) -> String {
    let ([year, month, day], [hours, minutes, seconds]) = parts(moment);
    format!("{year:04}{month:02}{day:02}T{hours:02}{minutes:02}{seconds:02}Z")
}

/// Year, month and day; hours, minutes and seconds.
fn parts(moment: SystemTime) -> ([u64; 3], [u64; 3]) {
    let seconds = moment.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, of_day) = (seconds / SECONDS_PER_DAY, seconds % SECONDS_PER_DAY);
    (civil(days).into(), [of_day / 3600, of_day / 60 % 60, of_day % 60])
}

/// Year, month and day, given the days since 1970; Howard Hinnant, *chrono-compatible low-level date algorithms*.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + DAYS_BEFORE_EPOCH;
    let (era, of_era) = (days / DAYS_PER_ERA, days % DAYS_PER_ERA);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / (DAYS_PER_ERA - 1)) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    // Counted from March, so that a leap day is the last one.
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

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
}
