//! Options for how criterion measures and reports. They have no effect, except throughput.

use perfunit_runtime::__private::bench::unit;

#[derive(Debug, PartialEq, Clone)]
pub enum Throughput {
    Bytes(u64),
    BytesDecimal(u64),
    Elements(u64),
    Bits(u64),
    ElementsAndBytes { elements: u64, bytes: u64 },
}

impl Throughput {
    /// Returns unit and amount of a run; of several units the first.
    pub(crate) fn of_run(&self) -> (u32, u64) {
        match *self {
            Throughput::Bytes(bytes) | Throughput::BytesDecimal(bytes) => (unit::BYTES, bytes),
            Throughput::Elements(elements) | Throughput::ElementsAndBytes { elements, .. } => (unit::ELEMENTS, elements),
            Throughput::Bits(bits) => (unit::BITS, bits),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum SamplingMode {
    #[default]
    Auto,
    Linear,
    Flat,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum AxisScale {
    #[default]
    Linear,
    Logarithmic,
}

#[derive(Debug, Clone, Default)]
pub struct PlotConfiguration;

impl PlotConfiguration {
    #[must_use]
    pub fn summary_scale(self, _: AxisScale) -> Self {
        self
    }
}

#[derive(Debug, Clone, Copy)]
pub enum PlottingBackend {
    Gnuplot,
    Plotters,
    None,
}

#[derive(Debug, Clone, Copy)]
pub enum Baseline {
    CompareLenient,
    CompareStrict,
    Save,
    Discard,
}
