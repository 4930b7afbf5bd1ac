//! Built-in profiles.

use super::settings::Layer;
use super::source::{Source, Sourced};
use super::values::Limit;
use perfunit_model::Explain;
use std::time::Duration;

/// Names of the built-in profiles.
pub const NAMES: [&str; 3] = ["default", "hook", "ci"];

/// Users wait about a minute for a push.
const HOOK_BUDGET: Duration = Duration::from_mins(1);

/// Returns the settings of a built-in profile; none for other profiles.
pub fn layer(profile: &str) -> Layer {
    let from = || Source::BuiltIn { profile: profile.to_owned() };
    match profile {
        "hook" => Layer {
            budget: Some(Sourced { value: Limit(Some(HOOK_BUDGET)), from: from() }),
            // At a push, the verdict is urgent. `explain` can find the causes later.
            explain: Some(Sourced { value: Explain::Never, from: from() }),
            ..Layer::default()
        },
        "ci" => Layer {
            // In CI nobody waits at a terminal, and a budget set for local runs would end the run too early.
            budget: Some(Sourced { value: Limit(None), from: from() }),
            ..Layer::default()
        },
        _ => Layer::default(),
    }
}
