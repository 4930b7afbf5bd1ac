//! Generated workloads as plain tests for the user's sources.

use perfunit_model::GeneratedWorkload;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Writes the tests as Rust source: one test module for each module of the project.
pub fn write_plain_tests(workloads: &[GeneratedWorkload]) -> String {
    let mut by_module: BTreeMap<_, Vec<&GeneratedWorkload>> = BTreeMap::new();
    for workload in workloads {
        by_module.entry(&workload.call.module).or_default().push(workload);
    }
    let mut text = String::new();
    for (module, workloads) in by_module {
        let inline = module.inline.join("::");
        let inside = if inline.is_empty() { String::new() } else { format!(", inside `mod {inline}`") };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "// For {}{inside}, where private items are in scope.", module.file);
        // The crate may be `no_std`.
        let _ = writeln!(text, "#[cfg(test)]\nmod generated {{\n    use super::*;\n    extern crate std;\n");
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
        Some(value) => format!("        assert_eq!(std::format!(\"{{:?}}\", {called}), {value:?});\n"),
        None => format!("        std::hint::black_box({called});\n"),
    };
    format!(
        "    #[test]\n    #[allow(unused)]\n    fn {name}() {{\n{size}        let (input, mut lent) = {setup};\n{seen}    }}\n\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::{Function, GeneratedCall, ModulePlace, TargetId, TargetKind};

    fn workload(inline: &[&str], value: Option<&str>) -> GeneratedWorkload {
        let file = "src/lib.rs".to_owned();
        let inline = inline.iter().map(|name| (*name).to_owned()).collect();
        let function = Function { package: "demo".to_owned(), file: file.clone(), line: 1, name: "f".to_owned() };
        let (setup, call) = ("{ ((), (\"a\".repeat(n),)) }".to_owned(), "f(&lent.0)".to_owned());
        let module = ModulePlace { file, inline };
        GeneratedWorkload {
            call: GeneratedCall { function, module, setup, call, is_sized: true, by_caller: false },
            target: TargetId { package: "demo".to_owned(), kind: TargetKind::Lib, name: "demo".to_owned() },
            name: "f_1_0_n16".to_owned(),
            test: String::new(),
            n: 16,
            ns: 100,
            value: value.map(str::to_owned),
        }
    }

    #[test]
    fn a_test_asserts_what_base_returns_where_that_is_known() {
        let text = write_plain_tests(&[workload(&[], Some("Some(\"x\")")), workload(&["a", "b"], None)]);
        syn::parse_file(&text).unwrap();
        assert!(text.starts_with("// For src/lib.rs, where private items are in scope.\n"), "{text}");
        assert!(text.contains("assert_eq!(std::format!(\"{:?}\", f(&lent.0)), \"Some(\\\"x\\\")\");"), "{text}");
        assert!(
            text.contains("// For src/lib.rs, inside `mod a::b`") && text.contains("black_box(f(&lent.0));"),
            "{text}"
        );
    }
}
