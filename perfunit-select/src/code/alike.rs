//! Compares two executables that have the same functions at different addresses.

use super::inlining::UnreadableExecutable;
use super::instructions::decode;
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, SectionKind, SymbolKind};
use perfunit_build::can_decode;
use std::collections::BTreeMap;

/// rustc adds the debugger's printers to it if there is debug information.
const ENTRY: &str = "main";

/// Returns the functions with other instructions than in another executable, by symbol name. Operands are
/// ignored, because they contain addresses.
pub fn unlike(executable: &[u8], other: &[u8]) -> Result<Vec<String>, UnreadableExecutable> {
    let (ours, others) = (shapes(executable)?, shapes(other)?);
    let differs = |(name, shape): (&String, &Shape)| others.get(name).is_some_and(|other| other != shape);
    Ok(ours.iter().filter(|(name, shape)| differs((name, shape))).map(|(name, _)| name.clone()).collect())
}

/// Checks whether two executables have the same machine code at the same addresses.
pub fn is_same_code(executable: &[u8], other: &[u8]) -> Result<bool, UnreadableExecutable> {
    let (one, two) = (object::File::parse(executable)?, object::File::parse(other)?);
    Ok(code_sections(&one)? == code_sections(&two)?)
}

fn code_sections<'data>(file: &object::File<'data>) -> Result<Vec<(u64, &'data [u8])>, UnreadableExecutable> {
    let code = file.sections().filter(|section| section.kind() == SectionKind::Text);
    Ok(code.map(|section| Ok((section.address(), section.data()?))).collect::<object::Result<_>>()?)
}

/// Content of a function without the parts that the linker fills in.
#[derive(Debug, PartialEq, Eq)]
enum Shape {
    Operations(Vec<u64>),
    /// Size only, for processors without a decoder.
    Size(u64),
    /// Several functions have this name.
    Ambiguous,
}

fn shapes(executable: &[u8]) -> Result<BTreeMap<String, Shape>, UnreadableExecutable> {
    let file = object::File::parse(executable)?;
    let mut shapes = BTreeMap::new();
    for symbol in file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0) {
        let Ok(name) = symbol.name() else { continue };
        let section = symbol.section_index().and_then(|index| file.section_by_index(index).ok());
        let Some(section) = section.filter(|_| name != ENTRY) else { continue };
        let shape = match section.data_range(symbol.address(), symbol.size()) {
            Ok(Some(bytes)) if can_decode(file.architecture()) => {
                let instructions = decode(file.architecture(), bytes);
                Shape::Operations(instructions.iter().map(|instruction| instruction.operation).collect())
            }
            _ => Shape::Size(symbol.size()),
        };
        shapes.entry(name.to_owned()).and_modify(|known| *known = Shape::Ambiguous).or_insert(shape);
    }
    Ok(shapes)
}
