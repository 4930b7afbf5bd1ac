//! Probes: the text of a Rust file with an attribute before each function that is to be timed.
//!
//! The attribute stands on the function's own line, behind its other attributes: no line moves, and all other bytes stay
//! what they are. Without `--cfg perfunit_probes` it means nothing. What a function does, which functions it is
//! impossible or useless to time, and how a function is found again in another version, is decided here by the text of
//! one file alone.

mod function;
mod site;
mod walk;

use perfunit_model::Unprobed;
pub use site::{Extent, LeftOut, Place, Returns, Site};

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
