//! A moment as people write it.

use jiff::Timestamp;
use std::time::SystemTime;

/// `2026-11-21 19:24 UTC`.
pub fn utc(moment: SystemTime) -> String {
    shown(moment, "%Y-%m-%d %H:%M UTC")
}

/// `20261121T192405Z`: for names that sort by time.
pub fn stamp(moment: SystemTime) -> String {
    shown(moment, "%Y%m%dT%H%M%SZ")
}

/// `2026-11-21`, of seconds since 1970.
pub fn day(seconds: i64) -> String {
    Timestamp::from_second(seconds).unwrap_or_default().strftime("%Y-%m-%d").to_string()
}

fn shown(moment: SystemTime, format: &str) -> String {
    // A clock that shows a year of five digits is as good as none.
    Timestamp::try_from(moment).unwrap_or_default().strftime(format).to_string()
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
}
