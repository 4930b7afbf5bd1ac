//! An order of functions as a linker script, for GNU ld.
//!
//! Lists of symbols are lld's alone, but every GNU ld can put sections into an output section of our own, in the order in
//! which a script names them, and compilers give each function a section that bears its name.

use super::ORDERED;
use super::data::is_plain;
use super::plan::Gap;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// What compilers put in front of a function's name to name its section.
const BEFORE_NAMES: [&str; 5] = [".text.", ".text.unlikely.", ".text.hot.", ".text.startup.", ".text.exit."];

/// Writes the script; `aliases` are further names of functions, of which any may name the section.
pub(super) fn order(order: &[String], gaps: &[Gap], aliases: &BTreeMap<String, Vec<String>>) -> String {
    let gaps: BTreeSet<&str> = gaps.iter().map(|gap| gap.name.as_str()).collect();
    let mut script = format!("SECTIONS {{ {ORDERED} : {{\n");
    for name in order {
        if gaps.contains(name.as_str()) {
            // Nothing refers to it.
            let _ = writeln!(script, "  KEEP(*(.text.{name}))");
            continue;
        }
        let aliases = aliases.get(name).map(Vec::as_slice).unwrap_or_default();
        let names = std::iter::once(name).chain(aliases).filter(|name| is_plain(name));
        let sections = names.flat_map(|name| BEFORE_NAMES.map(|before| format!("{before}{name}")));
        let sections: Vec<String> = sections.collect();
        if !sections.is_empty() {
            let _ = writeln!(script, "  *({})", sections.join(" "));
        }
    }
    script.push_str("} } INSERT BEFORE .text;\n");
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_names_the_sections_of_functions_in_order() {
        let gap = Gap { name: "perfunit_before_0".to_owned(), align: 64, size: 64 };
        let aliases = BTreeMap::from([("b".to_owned(), vec!["c".to_owned()])]);
        let names = ["perfunit_before_0", "b", "a*", "a"].map(str::to_owned);
        let script = order(&names, &[gap], &aliases);
        let lines: Vec<&str> = script.lines().collect();
        assert_eq!(lines.len(), 5, "{script}");
        assert_eq!(lines[1], "  KEEP(*(.text.perfunit_before_0))");
        assert!(lines[2].contains(" .text.unlikely.b ") && lines[2].contains(" .text.hot.c "), "{script}");
        assert!(lines[3].starts_with("  *(.text.a .text.unlikely.a "), "{script}");
        assert_eq!(lines[4], "} } INSERT BEFORE .text;");
    }
}
