//! Profiles that need no file.

use super::settings::Layer;
use super::source::{Source, Sourced};
use super::values::Limit;
use perfunit_model::Explain;
use std::time::Duration;

/// Names of the profiles that are always there.
pub const NAMES: [&str; 3] = ["default", "hook", "ci"];

/// A minute is what people wait for a push.
const HOOK_BUDGET: Duration = Duration::from_mins(1);

/// What a profile of ours sets; nothing if it is none of ours.
pub fn layer(profile: &str) -> Layer {
    let from = || Source::BuiltIn { profile: profile.to_owned() };
    match profile {
        "hook" => Layer {
            budget: Some(Sourced { value: Limit(Some(HOOK_BUDGET)), from: from() }),
            // Who waits for a push wants the verdict first: `explain` answers afterwards.
            explain: Some(Sourced { value: Explain::Never, from: from() }),
            ..Layer::default()
        },
        "ci" => Layer {
            // Nobody sits there who could be asked to wait, and a budget of a local default would cut the answer short.
            budget: Some(Sourced { value: Limit(None), from: from() }),
            ..Layer::default()
        },
        _ => Layer::default(),
    }
}
