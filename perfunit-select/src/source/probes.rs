//! Probes: adds an attribute to each function of a Rust file that is to be timed.
//!
//! The attribute is on the function's own line, after its other attributes, so line numbers and all other bytes stay
//! the same. Without `--cfg perfunit_probes` it has no effect. The text of one file decides which functions cannot or
//! need not be timed, and how a function is matched with another version.

mod function;
mod site;
mod walk;

use perfunit_model::Unprobed;
pub use site::{Extent, LeftOut, Place, Returns, Site};

/// A file with probes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instrumented {
    /// Text, with the same number of lines as before.
    pub text: String,
    /// Functions with a probe, in order.
    pub sites: Vec<Site>,
    /// Other functions, in order.
    pub left_out: Vec<LeftOut>,
}

/// Adds probes to the functions of a file that can have one and are `wanted`.
///
/// A function must be trivial on both sides to be left out, which requires two rounds: one for the sites of both
/// versions, and one with the wanted ones.
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

/// Returns the line ranges of all functions in a file, including tests, outer ones first. Returns nothing for a file
/// that cannot be parsed or functions that macros generate.
pub fn extents(text: &str, place: &Place<'_>) -> Vec<Extent> {
    walk::functions(text, place).map(|found| found.extents).unwrap_or_default()
}

/// Returns the attribute that adds a probe to a function.
fn attribute(key: u64) -> String {
    format!("#[cfg_attr(perfunit_probes, perfunit_probe({key}u64))] ")
}

#[cfg(test)]
mod tests;
