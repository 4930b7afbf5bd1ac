//! Variables of the environment, read once.

use super::settings::Layer;
use crate::error::Result;

/// The settings of our environment. An empty variable counts as unset.
pub fn layer() -> Result<Layer> {
    Layer::of_environment(&|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
}
