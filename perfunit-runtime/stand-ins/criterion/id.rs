//! Names of benchmarks, as criterion prints them: `group/function/parameter`.

use std::fmt::Display;

#[derive(Clone, Debug, Eq, PartialEq, Hash)]
pub struct BenchmarkId {
    function: Option<String>,
    parameter: Option<String>,
}

impl BenchmarkId {
    pub fn new<S: Into<String>, P: Display>(function_name: S, parameter: P) -> Self {
        Self { function: Some(function_name.into()), parameter: Some(parameter.to_string()) }
    }

    pub fn from_parameter<P: Display>(parameter: P) -> Self {
        Self { function: None, parameter: Some(parameter.to_string()) }
    }

    pub(crate) fn in_group(self, group: &str) -> String {
        let parts = [Some(group.to_owned()), self.function, self.parameter];
        parts.into_iter().flatten().collect::<Vec<_>>().join("/")
    }

    /// Returns the name of a benchmark outside of a group.
    pub(crate) fn alone(self) -> String {
        let parts = [self.function, self.parameter];
        parts.into_iter().flatten().collect::<Vec<_>>().join("/")
    }
}

pub trait IntoBenchmarkId {
    fn into_benchmark_id(self) -> BenchmarkId;
}

impl IntoBenchmarkId for BenchmarkId {
    fn into_benchmark_id(self) -> BenchmarkId {
        self
    }
}

impl<S: Into<String>> IntoBenchmarkId for S {
    fn into_benchmark_id(self) -> BenchmarkId {
        BenchmarkId { function: Some(self.into()), parameter: None }
    }
}
