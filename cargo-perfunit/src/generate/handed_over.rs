//! Generated calls as plain tests, for the user's own tree.

use crate::model::GeneratedWorkload;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Tests as Rust source: for each module one of its own, to be put into that.
pub fn tests(workloads: &[GeneratedWorkload]) -> String {
    let mut by_module: BTreeMap<_, Vec<&GeneratedWorkload>> = BTreeMap::new();
    for workload in workloads {
        by_module.entry(&workload.call.module).or_default().push(workload);
    }
    let mut text = String::new();
    for (module, workloads) in by_module {
        let inline = module.inline.join("::");
        let inside = if inline.is_empty() { String::new() } else { format!(", inside `mod {inline}`") };
        // Writing into a string cannot fail.
        let _ = writeln!(text, "// For {}{inside}: its private items are in reach there.", module.file);
        let _ = writeln!(text, "#[cfg(test)]\nmod generated {{\n    use super::*;\n");
        for workload in workloads {
            text.push_str(&test(workload));
        }
        text.push_str("}\n");
    }
    text
}

fn test(GeneratedWorkload { call, name, n, value, .. }: &GeneratedWorkload) -> String {
    let size = if call.is_sized { format!("        let n: usize = {n};\n") } else { String::new() };
    let (setup, called) = (&call.setup, &call.call);
    let seen = match value {
        Some(value) => format!("        assert_eq!(format!(\"{{:?}}\", {called}), {value:?});\n"),
        None => format!("        std::hint::black_box({called});\n"),
    };
    format!(
        "    #[test]\n    #[allow(unused_mut)]\n    fn {name}() {{\n{size}        let mut input = {setup};\n{seen}    }}\n\n"
    )
}
