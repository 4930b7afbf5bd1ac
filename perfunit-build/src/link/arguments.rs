//! Parses a linker's command line. Pure.
//!
//! Both the driver (`cc`, `clang`) and the linker (`ld`, `rust-lld`) are supported; their options do not conflict here.
//! A word that is neither an option nor the value of one may be a file; the caller checks whether it exists.

use serde::{Deserialize, Serialize};
use std::iter::Peekable;
use std::str::Chars;

/// Program that interprets an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Scope {
    /// The program that rustc calls.
    Program,
    /// The linker behind a driver, for parts of `-Wl,..` and words after `-Xlinker`.
    Linker,
}

/// Meaning of an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Meaning {
    /// An argument without meaning for us.
    Plain,
    /// A path that may be an input.
    File(String),
    /// A library, with the mode at its position.
    Library {
        /// Name without `-l`.
        name: String,
        /// True if only archives are searched.
        is_static: bool,
    },
    Folder(String),
    /// A file that controls the linker: linker script, version script, or list of symbols.
    Script(String),
    Output(String),
}

/// A parsed argument: its text, and the file or library that it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parsed {
    pub scope: Scope,
    pub text: String,
    pub meaning: Meaning,
}

impl Parsed {
    /// Returns the output path, if this argument names it.
    pub fn output(&self) -> Option<&str> {
        match &self.meaning {
            Meaning::Output(path) => Some(path),
            _ => None,
        }
    }
}

/// Linker options that name a control file, followed by `=` or by a separate word.
const SCRIPT_OPTIONS: [&str; 12] = [
    "script",
    "default-script",
    "version-script",
    "dynamic-list",
    "export-dynamic-symbol-list",
    "retain-symbols-file",
    "symbol-ordering-file",
    "section-ordering-file",
    "call-graph-ordering-file",
    "just-symbols",
    "specs",
    "remap-inputs-file",
];

/// Options followed by a value as the next word, which is not an input even if a file of that name exists.
const VALUE_OPTIONS: [&str; 25] = [
    "u",
    "e",
    "z",
    "m",
    "h",
    "y",
    "undefined",
    "entry",
    "soname",
    "rpath",
    "rpath-link",
    "defsym",
    "wrap",
    "init",
    "fini",
    "Map",
    "dependency-file",
    "dynamic-linker",
    "section-start",
    "plugin-opt",
    "flavor",
    "target",
    "mllvm",
    "sysroot",
    "exclude-libs",
];

/// Replaces each `@file` by the arguments in the file. If the file cannot be read, the argument stays, because linkers
/// then take it for a file name.
pub(super) fn expand(arguments: Vec<String>, read: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    expand_to(arguments, read, 0)
}

fn expand_to(arguments: Vec<String>, read: &dyn Fn(&str) -> Option<String>, depth: usize) -> Vec<String> {
    /// Response files may include each other.
    const DEEPEST: usize = 16;
    let mut expanded = Vec::with_capacity(arguments.len());
    for argument in arguments {
        match argument.strip_prefix('@').filter(|_| depth < DEEPEST).and_then(read) {
            Some(text) => expanded.extend(expand_to(split_words(&text), read, depth + 1)),
            None => expanded.push(argument),
        }
    }
    expanded
}

/// Splits a response file as GNU programs do: at white space, with quotes and backslash escapes.
fn split_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut characters = text.chars().peekable();
    loop {
        while characters.next_if(char::is_ascii_whitespace).is_some() {}
        if characters.peek().is_none() {
            return words;
        }
        words.push(next_word(&mut characters));
    }
}

fn next_word(characters: &mut Peekable<Chars<'_>>) -> String {
    let mut word = String::new();
    let mut quote = None;
    while let Some(c) = characters.next_if(|c| quote.is_some() || !c.is_ascii_whitespace()) {
        match c {
            '\\' => word.extend(characters.next()),
            _ if quote == Some(c) => quote = None,
            '\'' | '"' if quote.is_none() => quote = Some(c),
            _ => word.push(c),
        }
    }
    word
}

/// Parses expanded arguments.
pub(super) fn parse(arguments: &[String]) -> Vec<Parsed> {
    // A driver passes this to the linker before all libraries, whatever its position.
    let is_static = arguments.iter().any(|argument| matches!(argument.as_str(), "-static" | "-static-pie"));
    let mut parser = Parser { is_static, ..Parser::default() };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if let Some(list) = argument.strip_prefix("-Wl,") {
            list.split(',').for_each(|word| parser.word(Scope::Linker, word));
        } else if argument == "-Xlinker" {
            rest.next().into_iter().for_each(|word| parser.word(Scope::Linker, word));
        } else {
            parser.word(Scope::Program, argument);
        }
    }
    parser.parsed
}

/// Kind of the next word, decided by the preceding option.
#[derive(Debug, Clone, Copy)]
enum Expected {
    Value,
    Folder,
    Library,
    Script,
    Output,
}

#[derive(Debug, Default)]
struct Parser {
    parsed: Vec<Parsed>,
    expected: Option<Expected>,
    is_static: bool,
}

impl Parser {
    fn word(&mut self, scope: Scope, word: &str) {
        let (text, meaning) = match self.expected.take() {
            Some(expected) => self.value(expected, word),
            None => match self.option(word) {
                Some(found) => found,
                // Join `-L` and `-l` with a separate value.
                None => return,
            },
        };
        self.parsed.push(Parsed { scope, text, meaning });
    }

    fn value(&self, expected: Expected, word: &str) -> (String, Meaning) {
        let word = word.to_owned();
        match expected {
            Expected::Value => (word, Meaning::Plain),
            Expected::Folder => ("-L".to_owned(), Meaning::Folder(word)),
            Expected::Library => (String::new(), Meaning::Library { name: word, is_static: self.is_static }),
            Expected::Script => (String::new(), Meaning::Script(word)),
            Expected::Output => (String::new(), Meaning::Output(word)),
        }
    }

    /// Returns `None` if the next word completes this option.
    fn option(&mut self, word: &str) -> Option<(String, Meaning)> {
        let Some(name) = word.strip_prefix('-').filter(|name| !name.is_empty()) else {
            return Some((String::new(), Meaning::File(word.to_owned())));
        };
        let plain = || Some((word.to_owned(), Meaning::Plain));
        match word {
            "-Bstatic" | "-dn" | "-non_shared" | "-static" => self.is_static = true,
            "-Bdynamic" | "-dy" | "-call_shared" => self.is_static = false,
            "-o" | "--output" => {
                self.expected = Some(Expected::Output);
                return plain();
            }
            "-L" | "--library-path" => {
                self.expected = Some(Expected::Folder);
                return None;
            }
            "-l" | "--library" => {
                self.expected = Some(Expected::Library);
                return None;
            }
            "-T" => {
                self.expected = Some(Expected::Script);
                return plain();
            }
            _ => {}
        }
        // Long options may begin with one dash.
        let long = name.strip_prefix('-').unwrap_or(name);
        if let Some((option, value)) = long.split_once('=') {
            let text = || word[..word.len() - value.len()].to_owned();
            match option {
                "library" => return Some(self.value(Expected::Library, value)),
                "library-path" => return Some(self.value(Expected::Folder, value)),
                "output" => return Some((text(), Meaning::Output(value.to_owned()))),
                _ if SCRIPT_OPTIONS.contains(&option) => return Some((text(), Meaning::Script(value.to_owned()))),
                _ => {}
            }
        }
        if SCRIPT_OPTIONS.contains(&long) {
            self.expected = Some(Expected::Script);
        } else if VALUE_OPTIONS.contains(&long) {
            self.expected = Some(Expected::Value);
        } else if let Some(folder) = word.strip_prefix("-L") {
            return Some(self.value(Expected::Folder, folder));
        } else if let Some(library) = word.strip_prefix("-l") {
            return Some(self.value(Expected::Library, library));
        } else if let Some(script) = word.strip_prefix("-T").filter(|_| !sets_address(name)) {
            return Some(("-T".to_owned(), Meaning::Script(script.to_owned())));
        } else if let Some(output) = word.strip_prefix("-o").filter(|_| word != "-omagic") {
            return Some(("-o".to_owned(), Meaning::Output(output.to_owned())));
        }
        if sets_address(name) && !name.contains('=') {
            self.expected = Some(Expected::Value);
        }
        plain()
    }
}

/// Checks for `-Ttext=0x1000` and similar options, which are not scripts.
fn sets_address(name: &str) -> bool {
    let option = name.split('=').next().unwrap_or_default();
    matches!(option, "Ttext" | "Tdata" | "Tbss" | "Ttext-segment" | "Trodata-segment" | "Tldata-segment")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the parsed arguments: `text`, then in brackets what each names.
    #[track_caller]
    fn check(line: &str, expected: &str) {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let show = |parsed: Parsed| {
            let scope = if parsed.scope == Scope::Linker { "+" } else { "" };
            let meaning = match parsed.meaning {
                Meaning::Plain => String::new(),
                Meaning::File(path) => format!("[{path}]"),
                Meaning::Library { name, is_static } => format!("[{}:{name}]", if is_static { "a" } else { "so" }),
                Meaning::Folder(path) => format!("[dir:{path}]"),
                Meaning::Script(path) => format!("[script:{path}]"),
                Meaning::Output(path) => format!("[out:{path}]"),
            };
            format!("{scope}{}{meaning}", parsed.text)
        };
        assert_eq!(parse(&arguments).into_iter().map(show).collect::<Vec<_>>().join(" "), expected);
    }

    #[test]
    fn objects_and_archives_are_files() {
        check("-m64 /t/symbols.o a.rcgu.o /t/liba.rlib -pie", "-m64 [/t/symbols.o] [a.rcgu.o] [/t/liba.rlib] -pie");
    }

    #[test]
    fn values_of_options_are_not_files() {
        check("-z now -u main -Wl,-rpath,lib -e start a.o", "-z now -u main +-rpath +lib -e start [a.o]");
    }

    #[test]
    fn output_and_folders_in_both_spellings() {
        check("-o out -L dir -Ldir", "-o [out:out] -L[dir:dir] -L[dir:dir]");
        check("-oout --output=out --library-path=dir", "-o[out:out] --output=[out:out] -L[dir:dir]");
    }

    #[test]
    fn libraries_know_the_mode_of_their_place() {
        check("-la -Wl,-Bstatic -lb -l c -Wl,-Bdynamic -ld", "[so:a] +-Bstatic [a:b] [a:c] +-Bdynamic [so:d]");
        check("-l:libx.so.1 -static-pie", "[a::libx.so.1] -static-pie");
    }

    #[test]
    fn groups_and_whole_archives_keep_their_order() {
        check(
            "-Wl,--start-group,-la,libb.a,--end-group -Wl,--whole-archive -Xlinker libc.a",
            "+--start-group +[so:a] +[libb.a] +--end-group +--whole-archive +[libc.a]",
        );
    }

    #[test]
    fn scripts_in_all_spellings() {
        check("-T a.ld -Tb.ld -Wl,-T,c.ld", "-T [script:a.ld] -T[script:b.ld] +-T +[script:c.ld]");
        check(
            "-Wl,--version-script=v -Wl,--dynamic-list,d",
            "+--version-script=[script:v] +--dynamic-list +[script:d]",
        );
        check("-Wl,-Ttext=0x1000 -Wl,-Tdata,0x2000", "+-Ttext=0x1000 +-Tdata +0x2000");
    }

    #[test]
    fn a_value_may_stand_in_the_next_argument() {
        check("-Wl,-T -Wl,a.ld b.o", "+-T +[script:a.ld] [b.o]");
    }

    #[test]
    fn response_files_are_expanded() {
        let read = |path: &str| match path {
            "one" => Some("a.o\n\"b c.o\" d\\ e.o @two\n".to_owned()),
            "two" => Some("'f\"g.o'\\\\h".to_owned()),
            "itself" => Some("@itself".to_owned()),
            _ => None,
        };
        let expanded = |line: &str| expand(line.split(' ').map(str::to_owned).collect(), &read);
        assert_eq!(expanded("-pie @one @none"), ["-pie", "a.o", "b c.o", "d e.o", "f\"g.o\\h", "@none"]);
        assert_eq!(expanded("@itself"), ["@itself"]);
    }
}
