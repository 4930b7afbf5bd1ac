//! JSON representation of values that JSON cannot express: maps with keys other than strings, infinities, and names of
//! variants.

use serde::Serialize;

/// Writes a map as a list of pairs, because keys of JSON objects are strings.
pub mod as_list {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::collections::BTreeMap;

    pub fn serialize<K: Serialize, V: Serialize, S: Serializer>(
        map: &BTreeMap<K, V>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map)
    }

    pub fn deserialize<'de, K, V, D>(deserializer: D) -> Result<BTreeMap<K, V>, D::Error>
    where
        K: Deserialize<'de> + Ord,
        V: Deserialize<'de>,
        D: Deserializer<'de>,
    {
        Vec::<(K, V)>::deserialize(deserializer).map(|pairs| pairs.into_iter().collect())
    }
}

/// Reads figures as NaN that are `null` because they were not finite.
pub mod float {
    use crate::Sides;
    use serde::{Deserialize, Deserializer};

    /// Reads a figure.
    pub fn one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Option::<f64>::deserialize(deserializer).map(|figure| figure.unwrap_or(f64::NAN))
    }

    /// Reads an upper bound; `null` if there is none.
    pub fn bound<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Option::<f64>::deserialize(deserializer).map(|bound| bound.unwrap_or(f64::INFINITY))
    }

    /// Reads a list of figures.
    pub fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
        let figures = Vec::<Option<f64>>::deserialize(deserializer)?;
        Ok(figures.into_iter().map(|figure| figure.unwrap_or(f64::NAN)).collect())
    }

    /// Reads a figure of both versions.
    pub fn sides<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Sides<f64>, D::Error> {
        Sides::<Option<f64>>::deserialize(deserializer).map(known)
    }

    /// Reads a figure of both versions that may be absent.
    pub fn sides_if_any<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Sides<f64>>, D::Error> {
        Option::<Sides<Option<f64>>>::deserialize(deserializer).map(|sides| sides.map(known))
    }

    /// Reads a list of figures of each version.
    pub fn lists<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Sides<Vec<f64>>, D::Error> {
        let sides = Sides::<Vec<Option<f64>>>::deserialize(deserializer)?;
        Ok(sides.map(|figures| figures.into_iter().map(|figure| figure.unwrap_or(f64::NAN)).collect()))
    }

    fn known(figures: Sides<Option<f64>>) -> Sides<f64> {
        figures.map(|figure| figure.unwrap_or(f64::NAN))
    }
}

/// Returns the name of a variant without fields, which is the same in all documents, in the store and in tables.
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
        assert_eq!(variant_name(Reason::NotExecuted { functions: 2, programs: Vec::new() }.kind()), "not-executed");
    }
}
