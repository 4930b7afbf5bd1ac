//! Constants and variables: selects those that keep the others from lying at equal addresses, and moves them away.
//!
//! The linker places data in the order of its inputs. Only symbols can change that order, and most constants have none.
//! One additional string therefore moves all data behind it, and bytes that are read in blocks take a different time at a
//! different place within a cache line: a change of 8 % was seen. Pieces outside of the sequence that both versions share
//! go to a separate section.

use super::image::{Image, Section};
use perfunit_build::Dialect;
use perfunit_model::Sides;
use similar::{Algorithm, capture_diff_slices};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The sections of an executable with content that a layout keeps in place.
pub(super) const HELD: [&str; 3] = [".rodata", ".data.rel.ro", ".data"];
/// The suffix of the section that holds the data removed from a section.
pub(super) const APART: &str = ".perfunit";
/// lld's file name for a piece that the linker itself made, such as constants merged from many inputs.
const INTERNAL: &str = "<internal>";
/// The part of a symbol name that marks anonymous constants. A hash and a number follow, both of which any edit changes.
const ANONYMOUS: &str = "..Lanon.";
/// Characters with a special meaning in patterns of linker scripts.
const SPECIAL: &[char] = &['*', '?', '[', ']', '\\', '"', ' ', '(', ')', ';'];

/// A piece of data where the linker put it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub address: u64,
    size: u64,
    align: u64,
    /// The file name without folders; `archive:member` for a member of an archive.
    file: String,
    section: String,
}

/// The pieces that have to leave each section of the executable, as patterns of linker scripts, in the order of [`HELD`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Leaving([BTreeSet<String>; HELD.len()]);

/// The comparison of the data of two executables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Comparison {
    /// The pieces that prevent equal addresses.
    pub leaving: Sides<Leaving>,
    pub common: usize,
    /// The number of common pieces at equal addresses.
    pub equal: usize,
}

/// Returns the pieces of a section of the executable, read from the linker's map.
fn pieces(map: &str, section: &str, dialect: Dialect) -> Vec<Piece> {
    match dialect {
        Dialect::Lld => pieces_of_lld(map, section),
        Dialect::Gnu => pieces_of_gnu_ld(map, section),
    }
}

/// Reads GNU ld's map, which has a line for each input section, or two lines if the name is long, between lines of the
/// script. A following line says whether the linker merged the content.
fn pieces_of_gnu_ld(map: &str, section: &str) -> Vec<Piece> {
    const MERGED: &str = "(size before relaxing)";
    let mut lines = map.lines().skip_while(|line| !line.starts_with("Linker script and memory map"));
    let is_header = |line: &str| !line.starts_with(' ') && line.split_whitespace().next() == Some(section);
    let mut pieces: Vec<Piece> = Vec::new();
    if !lines.by_ref().any(is_header) {
        return pieces;
    }
    let mut name = "";
    for line in lines.take_while(|line| line.is_empty() || line.starts_with(' ')) {
        let mut rest = line;
        if let Some(named) = line.strip_prefix(' ').filter(|named| !named.starts_with(' ')) {
            let (word, after) = named.split_at(named.find(' ').unwrap_or(named.len()));
            (name, rest) = (word, after);
        }
        if rest.ends_with(MERGED) {
            // The content is part of one table, whichever input the linker names.
            pieces.last_mut().into_iter().for_each(|piece| INTERNAL.clone_into(&mut piece.file));
        } else if !name.starts_with('*')
            && let Some(piece) = piece_of_gnu_ld(name, rest)
        {
            pieces.push(piece);
        }
    }
    pieces.retain(|piece| piece.size > 0);
    pieces
}

/// Parses `address, size (hexadecimal), file`.
fn piece_of_gnu_ld(section: &str, line: &str) -> Option<Piece> {
    let (address, rest) = line.trim().split_once(' ')?;
    let (size, path) = rest.trim_start().split_once(' ')?;
    let [address, size] = [address, size].map(|word| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok());
    Some(Piece { address: address?, size: size?, align: 0, file: file(path), section: section.to_owned() })
}

/// Returns a file as scripts name it: without folders, and as `archive:member` for a member of an archive.
fn file(path: &str) -> String {
    let (path, member) = match path.strip_suffix(')').and_then(|path| path.rsplit_once('(')) {
        Some((archive, member)) => (archive, Some(member)),
        None => (path, None),
    };
    let file = path.rsplit('/').next().unwrap_or(path);
    member.map_or_else(|| file.to_owned(), |member| format!("{file}:{member}"))
}

fn pieces_of_lld(map: &str, section: &str) -> Vec<Piece> {
    let mut lines = map.lines().filter_map(Line::parse);
    let found = lines.by_ref().any(|line| line.kind == Kind::Output && line.name == section);
    let inside = lines.take_while(|line| found && line.kind != Kind::Output);
    inside.filter(|line| line.kind == Kind::Input && line.size > 0).filter_map(Line::piece).collect()
}

/// Compares the data of two executables, given with the linker's maps of them.
pub(super) fn compare(images: &Sides<Image>, maps: &Sides<String>, dialect: Dialect) -> Comparison {
    let mut comparison = Comparison::default();
    for (number, section) in HELD.into_iter().enumerate() {
        let pieces = maps.as_ref().map(|map| pieces(map, section, dialect));
        let key = |image: &Image, piece: &Piece| piece.key(image);
        let keys = Sides {
            base: pieces.base.iter().map(|piece| key(&images.base, piece)).collect::<Vec<_>>(),
            head: pieces.head.iter().map(|piece| key(&images.head, piece)).collect::<Vec<_>>(),
        };
        for step in capture_diff_slices(Algorithm::Patience, &keys.base, &keys.head) {
            let (_, base, head) = step.as_tag_tuple();
            let (base, head) = (&pieces.base[base], &pieces.head[head]);
            if matches!(step, similar::DiffOp::Equal { .. }) {
                comparison.common += base.len();
                comparison.equal += base.iter().zip(head).filter(|(one, two)| one.address == two.address).count();
            } else {
                comparison.leaving.base.0[number].extend(base.iter().filter_map(Piece::pattern));
                comparison.leaving.head.0[number].extend(head.iter().filter_map(Piece::pattern));
            }
        }
    }
    comparison
}

/// Returns the sections with data. The order of data does not depend on the order of functions: two links of the same
/// inputs with equal sections have equal data at equal addresses.
pub(super) fn sections(image: &Image) -> Vec<Section> {
    let is_data = |section: &&Section| HELD.contains(&section.name.strip_suffix(APART).unwrap_or(&section.name));
    image.sections.iter().filter(is_data).cloned().collect()
}

/// Returns whether a linker script takes a name literally.
pub(super) fn is_plain(name: &str) -> bool {
    !name.contains(SPECIAL)
}

impl Leaving {
    /// Returns whether no piece has to leave.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(BTreeSet::is_empty)
    }

    /// Adds further pieces that have to leave.
    pub fn extend(&mut self, more: &Leaving) {
        for (patterns, more) in self.0.iter_mut().zip(&more.0) {
            patterns.extend(more.iter().cloned());
        }
    }

    /// Returns a linker script that only extends the linker's default script.
    pub fn script(&self) -> String {
        let mut script = String::new();
        for (section, patterns) in HELD.into_iter().zip(&self.0).filter(|(_, patterns)| !patterns.is_empty()) {
            let _ = writeln!(script, "SECTIONS {{ {section}{APART} : {{");
            for pattern in patterns {
                let _ = writeln!(script, "  {pattern}");
            }
            let _ = writeln!(script, "}} }} INSERT AFTER {section};");
        }
        script
    }
}

impl Piece {
    /// Returns the key that a piece of the other version must share to be the same for a program that reads it.
    fn key(&self, image: &Image) -> (u64, u64, String, String, u64) {
        // The leading number is the position of the file in the link.
        let file = self.file.trim_start_matches(|letter: char| letter.is_ascii_digit()).to_owned();
        let (section, content) = match self.section.split_once(ANONYMOUS) {
            Some((kind, _)) => {
                let mut hasher = DefaultHasher::new();
                image.constant(self.address, self.size).hash(&mut hasher);
                (kind.to_owned(), hasher.finish())
            }
            None => (self.section.clone(), 0),
        };
        (self.size, self.align, file, section, content)
    }

    /// Returns the pattern of the piece for a linker script; `None` if a script cannot contain its names.
    fn pattern(&self) -> Option<String> {
        if !is_plain(&self.file) || !is_plain(&self.section) {
            return None;
        }
        let section = &self.section;
        if self.file != INTERNAL {
            return Some(format!("*{}({section})", self.file));
        }
        // Older versions of lld name the section of the executable here, whatever the names of the merged sections are.
        let is_merged = HELD.contains(&section.as_str());
        Some(if is_merged { format!("*({section}.str* {section}.cst*)") } else { format!("*({section})") })
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Output,
    Input,
    Symbol,
}

/// A line of a map: `address, load address, size (hexadecimal), alignment, name`. The name of a smaller unit stands
/// further to the right.
#[derive(Debug)]
struct Line<'a> {
    address: u64,
    size: u64,
    align: u64,
    kind: Kind,
    name: &'a str,
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut rest = line;
        let mut word = || {
            let text = rest.trim_start();
            let (word, after) = text.split_at(text.find(' ')?);
            rest = after;
            Some(word)
        };
        let hexadecimal = |word: &str| u64::from_str_radix(word, 16).ok();
        let (address, _, size, align) = (hexadecimal(word()?)?, word()?, hexadecimal(word()?)?, word()?.parse().ok()?);
        let name = rest.trim_start();
        let kind = match rest.len() - name.len() {
            0..=4 => Kind::Output,
            5..=12 => Kind::Input,
            _ => Kind::Symbol,
        };
        Some(Self { address, size, align, kind, name })
    }

    fn piece(self) -> Option<Piece> {
        let (path, section) = self.name.strip_suffix(')')?.rsplit_once(":(")?;
        let Self { address, size, align, .. } = self;
        Some(Piece { address, size, align, file: file(path), section: section.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: &str = "
             VMA              LMA     Size Align Out     In      Symbol
             270              270       1c     1 .interp
             270              270       1c     1         <internal>:(.interp)
          100000           100000       5a    16 .rodata
          100000           100000       30    16         <internal>:(.rodata.cst16)
          100030           100030       18     8         /a/0001-krate.o:(.rodata._R5TABLE)
          100030           100030       18     1                 TABLE
          100048           100048       11     1         /a/0003-liba.rlib(a.rcgu.o):(.rodata..Lanon.0f.2)
          100059           100059        0     1         /a/0001-krate.o:(.rodata..Lanon.0f.3)
          200000           200000       10    16 .text
          200000           200000       10    16         /a/0001-krate.o:(.text.f)
";

    #[test]
    fn a_map_names_the_pieces_of_a_section() {
        let found = pieces(MAP, ".rodata", Dialect::Lld);
        let texts: Vec<String> = found.iter().filter_map(Piece::pattern).collect();
        let expected =
            ["*(.rodata.cst16)", "*0001-krate.o(.rodata._R5TABLE)", "*0003-liba.rlib:a.rcgu.o(.rodata..Lanon.0f.2)"];
        assert_eq!(texts, expected);
        assert_eq!((found[1].address, found[1].size, found[1].align), (0x10_0030, 0x18, 8));
        assert_eq!(pieces(MAP, ".data", Dialect::Lld), []);
    }

    const GNU_MAP: &str = "
Discarded input sections

 .rodata.cst4   0x0000000000000000        0x4 /usr/lib/Scrt1.o

Linker script and memory map

LOAD /a/0001-k.o
.rodata         0x0000000000300000     0xeb30
 *(.rodata .rodata.* .gnu.linkonce.r.*)
 .rodata.cst16  0x0000000000300000       0x50 /a/0001-k.o
                                         0x70 (size before relaxing)
 .rodata.cst16  0x0000000000300050        0x0 /a/0003-liba.rlib(a.rcgu.o)
                                         0x40 (size before relaxing)
 .rodata..Lanon.47ff50a520ecfe6c384a4f559a90ec3f.5
                0x0000000000300050        0x5 /a/0001-k.o
 *fill*         0x0000000000300055        0x3 
 .rodata._R5TABLE
                0x0000000000300058       0x18 /a b/0003-liba.rlib(a.rcgu.o)
                0x0000000000300058                TABLE

.rodata1
 *(.rodata1)
 .rodata1.x     0x0000000000301000        0x8 /a/0001-k.o
";

    #[test]
    fn a_map_of_gnu_ld_names_the_same() {
        let found = pieces(GNU_MAP, ".rodata", Dialect::Gnu);
        let texts: Vec<String> = found.iter().filter_map(Piece::pattern).collect();
        let expected = [
            "*(.rodata.cst16)",
            "*0001-k.o(.rodata..Lanon.47ff50a520ecfe6c384a4f559a90ec3f.5)",
            "*0003-liba.rlib:a.rcgu.o(.rodata._R5TABLE)",
        ];
        assert_eq!(texts, expected);
        assert_eq!((found[2].address, found[2].size), (0x30_0058, 0x18));
        assert_eq!(pieces(GNU_MAP, ".data", Dialect::Gnu), []);
    }

    #[test]
    fn what_an_older_lld_merged_leaves_by_the_names_that_it_has_in_objects() {
        let map = "100000  100000  50  16 .rodata\n 100000  100000  50  16         <internal>:(.rodata)\n";
        let texts: Vec<_> = pieces(map, ".rodata", Dialect::Lld).iter().filter_map(Piece::pattern).collect();
        assert_eq!(texts, ["*(.rodata.str* .rodata.cst*)"]);
    }

    /// Returns a map of `.rodata` with consecutive pieces of these names and sizes.
    fn map(pieces: &[(&str, u64)]) -> String {
        let mut map = String::from("  100000  100000  1000  1 .rodata\n");
        let mut address = 0x10_0000;
        for (name, size) in pieces {
            let _ = writeln!(map, "  {address:x}  {address:x}  {size:x}  1         /a/0001-k.o:(.rodata.{name})");
            address += size;
        }
        map
    }

    #[track_caller]
    fn check(base: &[(&str, u64)], head: &[(&str, u64)], leaving: (&str, &str), common: usize, equal: usize) {
        let images = Sides { base: Image::empty(), head: Image::empty() };
        let compared = compare(&images, &Sides { base: map(base), head: map(head) }, Dialect::Lld);
        let names = |leaving: &Leaving| {
            let name =
                |pattern: &String| pattern.trim_start_matches("*0001-k.o(.rodata.").trim_end_matches(')').to_owned();
            leaving.0[0].iter().map(name).collect::<Vec<_>>().join(" ")
        };
        assert_eq!((names(&compared.leaving.base).as_str(), names(&compared.leaving.head).as_str()), leaving);
        assert_eq!((compared.common, compared.equal), (common, equal));
    }

    #[test]
    fn what_only_one_side_has_leaves() {
        check(&[("a", 8), ("b", 3), ("c", 8)], &[("a", 8), ("c", 8)], ("b", ""), 2, 1);
        check(&[("a", 8), ("c", 8)], &[("a", 8), ("c", 8)], ("", ""), 2, 2);
    }

    #[test]
    fn what_grew_or_moved_leaves_on_both_sides() {
        check(&[("a", 8), ("b", 3), ("c", 8)], &[("a", 8), ("b", 5), ("c", 8)], ("b", "b"), 2, 1);
        let (base, head) = ([("a", 8), ("b", 8), ("c", 8)], [("b", 8), ("c", 8), ("a", 8)]);
        check(&base, &head, ("a", "a"), 2, 0);
    }

    #[test]
    fn a_script_adds_sections_and_changes_nothing_else() {
        let images = Sides { base: Image::empty(), head: Image::empty() };
        let maps = Sides { base: map(&[("a", 8), ("b", 3)]), head: map(&[("a", 8)]) };
        let leaving = compare(&images, &maps, Dialect::Lld).leaving;
        assert_eq!(
            leaving.base.script(),
            "SECTIONS { .rodata.perfunit : {\n  *0001-k.o(.rodata.b)\n} } INSERT AFTER .rodata;\n"
        );
        assert!(leaving.head.is_empty() && leaving.head.script().is_empty());
    }

    #[test]
    fn sections_with_data_are_those_that_are_held_and_what_had_to_leave_them() {
        let section = |name: &str| Section { name: name.to_owned(), address: 0x1000, size: 8 };
        let all = [".text", ".rodata", ".rodata.perfunit", ".data", ".data.other", ".bss"];
        let mut image = Image::empty();
        image.sections = all.map(section).into();
        assert_eq!(sections(&image), [".rodata", ".rodata.perfunit", ".data"].map(section));
    }
}
