//! Probes: the text of a Rust file with an attribute before each function that is to be timed.
//!
//! The attribute stands on the function's own line, behind its other attributes: no line moves, and all other bytes stay
//! what they are. Without `--cfg perfunit_probes` it means nothing. What a function does, which functions it is
//! impossible or useless to time, and how a function is found again in another version, is decided here by the text of
//! one file alone.

mod rules;
mod trivial;
mod walk;

pub use rules::Unprobed;

use serde::{Deserialize, Serialize};

/// Which file it is: equal in both versions, for keys follow from it.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// Name of the package.
    pub package: &'a str,
    /// Path from the package's folder, with `/`.
    pub path: &'a str,
}

/// A function with a probe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// Stands for package, file, impl block and name, and for the number among equals, such as those of several `#[cfg]`.
    /// A function has the same key in every version in which these are the same, on whatever line.
    pub key: u64,
    /// As [`Item::name`](super::Item::name); a function in the body of another has that one's name before its own.
    pub name: String,
    /// Line of its name, from 1.
    pub line: usize,
    /// Type of the impl block or name of the trait around it, otherwise empty.
    pub owner: String,
    /// Name of the trait that the impl block around it implements, otherwise empty.
    pub implements: String,
    /// Header of the impl block around it, otherwise empty: tells `<S as From<u8>>::from` from `<S as From<u16>>::from`.
    pub header: String,
    /// True below `#[cfg(test)]` and inside of tests.
    pub test_only: bool,
    /// True if the probe would take longer than the function: a body of one expression out of names, literals, fields,
    /// references, casts, constructors, tuples and arrays, with at most one operator, index, `if` or `match` on other
    /// things than literals. What may be much work is not trivial: to compare two things that are no literals, to look
    /// up an index that is none, to match texts, and to drop a value that was handed over and is not in the expression.
    pub trivial: bool,
}

/// From where to where a function is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extent {
    /// That of its [`Site`], whether it can have a probe or not.
    pub key: u64,
    /// As that of a [`Site`].
    pub name: String,
    /// Line of its name, from 1.
    pub line: usize,
    /// First line, attributes included, from 1.
    pub first: usize,
    /// Line of the closing brace.
    pub last: usize,
    /// True for the function of a test.
    pub is_test: bool,
}

/// A function without a probe. Tests, which are timed as a whole, and functions without a body are not listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// As that of a [`Site`]; in a macro definition `name_of_macro!::name`; for a whole file its name.
    pub name: String,
    /// Line of its name, from 1.
    pub line: usize,
    /// Why it has none.
    pub why: Unprobed,
}

/// A file with probes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instrumented {
    /// The text: of as many lines as before.
    pub text: String,
    /// The functions that have a probe, in their order.
    pub sites: Vec<Site>,
    /// The others, in their order.
    pub left_out: Vec<LeftOut>,
}

/// Puts probes into a file, on those functions that can have one and are `wanted`.
///
/// What is too small to be timed has to be so on both sides, which takes two rounds: one for the sites of both versions,
/// and one with what is wanted of them.
pub fn instrument(text: &str, place: &Place<'_>, wanted: &dyn Fn(&Site) -> bool) -> Instrumented {
    let Some(found) = walk::functions(text, place) else {
        let name = place.path.rsplit('/').next().unwrap_or(place.path).to_owned();
        let whole_file = LeftOut { name, line: 1, why: Unprobed::Unparsed };
        return Instrumented { text: text.to_owned(), sites: Vec::new(), left_out: vec![whole_file] };
    };
    let mut left_out = found.left_out;
    let mut instrumented = String::with_capacity(text.len() + found.functions.len() * 64);
    let (mut sites, mut copied) = (Vec::new(), 0);
    for (at, site) in found.functions {
        if wanted(&site) {
            instrumented.push_str(&text[copied..at]);
            instrumented.push_str(&attribute(site.key));
            copied = at;
            sites.push(site);
        } else {
            let why = if site.trivial { Unprobed::Trivial } else { Unprobed::Unwanted };
            left_out.push(LeftOut { name: site.name, line: site.line, why });
        }
    }
    instrumented.push_str(&text[copied..]);
    left_out.sort_by_key(|left_out| left_out.line);
    Instrumented { text: instrumented, sites, left_out }
}

/// Where the functions of a file are, tests too, those around others before these; nothing of a file that cannot be
/// parsed, or of functions that macros write.
pub fn extents(text: &str, place: &Place<'_>) -> Vec<Extent> {
    walk::functions(text, place).map(|found| found.extents).unwrap_or_default()
}

/// What stands before a function with a probe.
fn attribute(key: u64) -> String {
    format!("#[cfg_attr(perfunit_probes, perfunit_probe({key}u64))] ")
}

#[cfg(test)]
mod tests;
