//! Several commits: what each changed, and which one made a test slower.

mod anchors;
mod bisection;
mod bisection_markdown;
mod commit;
mod csv;
mod document;
mod entry;
mod format;
mod markdown;
mod moves;
mod progress;
mod releases;
mod releases_csv;
mod releases_document;
mod sparkline;
mod summary;

pub(super) use anchors::words as anchors;
pub use bisection::text as bisection;
pub use bisection_markdown::render as bisect_markdown;
pub(super) use commit::{name, skipped};
pub use csv::render as csv;
pub use document::{BisectDocument, LogDocument, bisect_json};
pub use entry::text as entry;
pub(super) use entry::{counts, moved, worst};
pub use format::{HistoryFormat, render};
pub use markdown::render as markdown;
pub(super) use moves::{Move, Moves};
pub use progress::{anchoring, joined, left, not_anchored};
pub use releases::{release, summary as releases_summary};
pub use releases_csv::render as releases_csv;
pub use releases_document::{ReleasesDocument, releases_json};
pub use summary::text as summary;
pub(super) use summary::{Counts, error_rate, notes};

#[cfg(test)]
mod tests;
