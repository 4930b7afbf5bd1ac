//! The names of variants.

use serde::Serialize;

/// The name of a variant without fields: the same in all documents, in the store and in tables.
pub fn variant_name(variant: impl Serialize) -> String {
    let name = serde_json::to_value(variant).ok();
    name.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Reason, Verdict};

    #[test]
    fn names_are_those_of_the_documents() {
        assert_eq!(Verdict::ALL.map(variant_name)[2..4], ["changed-below-threshold", "same"]);
        assert_eq!(variant_name(Reason::NotExecuted { functions: 2 }.kind()), "not-executed");
    }
}
