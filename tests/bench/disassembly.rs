//! The instructions of every function of an executable, without addresses, which differ wherever code moved.

use super::Result;
use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::process::Command;

/// Hashes of the bodies by symbol; several local functions may have the same symbol.
pub type Functions = BTreeMap<String, Vec<u64>>;

/// Disassembles an executable.
pub fn functions(executable: &Path) -> Result<Functions> {
    let output = Command::new("objdump")
        .args(["--disassemble", "--no-show-raw-insn", "--wide"])
        .arg(executable)
        .output()
        .map_err(|error| format!("objdump is needed to compare code: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut functions = Functions::new();
    let mut current: Option<(String, DefaultHasher)> = None;
    for line in text.lines().chain([""]) {
        if let Some(instruction) = line.split_once(":\t").map(|(_, instruction)| instruction) {
            if let (Some((_, hasher)), false) = (&mut current, is_filler(instruction)) {
                without_addresses(instruction).hash(hasher);
            }
            continue;
        }
        if let Some((name, hasher)) = current.take() {
            functions.entry(name).or_default().push(hasher.finish());
        }
        // `0000000000039f30 <name>:`
        if let Some((_, name)) = line.strip_suffix(">:").and_then(|line| line.split_once(" <")) {
            current = Some((stable(name).to_owned(), DefaultHasher::new()));
        }
    }
    for bodies in functions.values_mut() {
        bodies.sort_unstable();
    }
    Ok(functions)
}

/// Removes the suffix by which LLVM distinguishes modules from a symbol.
pub fn stable(name: &str) -> &str {
    name.split(".llvm.").next().unwrap_or(name)
}

/// Returns whether an instruction is only padding for alignment.
fn is_filler(instruction: &str) -> bool {
    ["nop", "data16", "cs nop", "xchg   %ax,%ax", "int3"].iter().any(|start| instruction.starts_with(start))
}

/// Removes addresses: `call 41f80 <f>` becomes `call <f>`; `lea 0x4f2(%rip),%rax # 5678 <table+0x8>` becomes `lea
/// ?(%rip),%rax`.
fn without_addresses(instruction: &str) -> String {
    let (operation, comment) = instruction.split_once('#').unwrap_or((instruction, ""));
    let mut text = operation.trim_end().to_owned();
    if let Some(at) = text.find("(%rip)") {
        let start = text[..at].rfind([' ', ',', '*']).map_or(0, |space| space + 1);
        text.replace_range(start..at, "?");
        // The address of a function counts like a call; other data has no stable name.
        if let Some((_, name)) = comment.split_once('<')
            && name.starts_with("_R")
            && !name.contains("+0x")
        {
            text.push_str(stable(name.trim_end_matches('>')));
        }
    } else if let Some((before, name)) = text.split_once('<') {
        let operation = before.split_ascii_whitespace().next().unwrap_or_default();
        text = format!("{operation} {}", stable(name.trim_end_matches('>')));
    }
    text
}
