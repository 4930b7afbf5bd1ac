//! Reports: a [`Run`](perfunit_model::Run) becomes a terminal summary, a JSON document, a comment or another [`Format`], a
//! [`Listing`](perfunit_model::Listing) the answer of `cargo perfunit list`, a [`Checkup`](perfunit_model::checkup::Checkup)
//! the answer of `cargo perfunit doctor`.
//!
//! `sections` assembles the findings of a run once; `text`, `markdown`, `html`, `junit`, `github` and `push` render
//! these sections. All functions are pure: width, glyphs and verbosity come in as [`TextOptions`]. Colors are ANSI
//! codes that the terminal module strips where they are not supported. The order of the output depends on the input
//! alone.

mod acceptance;
pub mod bmf;
mod by_cause;
pub mod calibration;
mod causes;
mod caveats;
mod counts;
pub mod doctor;
pub mod explanations;
mod figures;
pub mod flamegraph;
pub mod generate;
pub mod generated_calls;
pub mod github;
pub mod growth;
mod headline;
pub mod history;
pub mod html;
pub mod impact;
pub mod json;
pub mod junit;
pub mod list;
pub mod live;
pub mod markdown;
mod metrics;
pub mod pooled_change;
pub mod push;
pub mod ranking;
pub mod ratchet;
mod rendering;
pub mod saved_runs;
pub mod schema;
mod sections;
pub mod settings;
mod short;
mod terminal;
pub mod text;
pub mod wire;

pub use figures::Detail;
pub use html::HtmlOptions;
pub use list::ListOptions;
pub use rendering::{Format, Rendering, WhenFine};
pub use saved_runs::ListFormat;
pub use schema::DocumentKind;
pub use text::TextOptions;

use perfunit_model::Run;

/// Renders the report of a run; text has ANSI colors.
pub fn render(run: &Run, format: Format, rendering: &Rendering) -> String {
    match format {
        Format::Text => {
            text::render(run, &rendering.text, rendering.denied)
                + &text::undecided_lines(run, &rendering.text, rendering.denied)
        }
        Format::Markdown => markdown::render(run, rendering),
        Format::Short => short::render(run, rendering.denied),
        Format::Json => json::render(run),
        Format::Junit => junit::render(run, rendering.denied),
        Format::Html => html::render(run, &HtmlOptions { denied: rendering.denied, ..HtmlOptions::default() }),
        Format::Bmf => bmf::render(run),
        Format::Github => github::annotations(run),
    }
}
