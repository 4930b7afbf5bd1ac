//! What debug information rustc is asked for, so that instructions can be attributed without another build.

use super::codegen;
use std::ffi::OsString;

/// What debug information a crate gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DebugInformation {
    /// As the profile has it.
    AsAsked,
    /// In the objects, which are kept, and not in what is linked of them: that is as the profile has it.
    InObjects,
    /// In what is linked, too.
    Linked,
}

impl DebugInformation {
    /// For the measured build only where the profile has none and the linker drops that of std: a panic that prints a
    /// backtrace would otherwise find more in the executable than in the user's.
    pub fn of_measured(arguments: &[OsString]) -> Self {
        let (mut is_stripped, mut is_asked) = (false, false);
        for (name, value) in codegen::options(arguments) {
            match name {
                "strip" => is_stripped = value != "none",
                "debuginfo" => is_asked = value != "0" && value != "none",
                _ => {}
            }
        }
        if is_stripped && !is_asked { Self::InObjects } else { Self::AsAsked }
    }

    /// Where each function is written and inlined, and nothing of variables and types.
    pub fn options(self) -> &'static [&'static str] {
        match self {
            Self::AsAsked => &[],
            Self::InObjects => &["-C", "debuginfo=limited", "-C", "split-debuginfo=off", "-C", "strip=debuginfo"],
            Self::Linked => &["-C", "debuginfo=limited", "-C", "split-debuginfo=off"],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: DebugInformation) {
        let arguments: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        assert_eq!(DebugInformation::of_measured(&arguments), expected, "{line}");
    }

    #[test]
    fn objects_get_debug_information_that_the_link_drops_again() {
        check("--crate-name demo -C strip=debuginfo", DebugInformation::InObjects);
        check("--crate-name demo -C debuginfo=0 -Cstrip=symbols", DebugInformation::InObjects);
    }

    #[test]
    fn what_is_linked_stays_what_the_profile_says() {
        check("--crate-name demo -C opt-level=3", DebugInformation::AsAsked);
        check("--crate-name demo -C debuginfo=2 -C strip=debuginfo", DebugInformation::AsAsked);
        check("--crate-name demo -C strip=debuginfo -Cdebuginfo=line-tables-only", DebugInformation::AsAsked);
        check("--crate-name demo -g -C strip=debuginfo", DebugInformation::AsAsked);
        check("--crate-name demo -C strip=debuginfo -C strip=none", DebugInformation::AsAsked);
    }
}
