//! A run as one HTML page that opens from disk: no network, no fonts, no other files.
//!
//! Everything is in the markup and can be read without scripts; the script sorts, filters and folds. Names and messages
//! come from foreign code: whatever is not a literal of ours is escaped by [`markup`], which has no way around that.

mod axis;
mod batches;
mod calls;
mod detail;
mod explained;
mod flame;
mod head;
mod interval;
mod markup;
mod metrics;
mod page;
mod rows;
mod strip;

pub use page::{HtmlOptions, render};
