//! How criterion measures and reports: accepted, without effect.

#[derive(Debug, PartialEq, Clone)]
pub enum Throughput {
    Bytes(u64),
    BytesDecimal(u64),
    Elements(u64),
    Bits(u64),
    ElementsAndBytes { elements: u64, bytes: u64 },
}

impl Throughput {
    pub(crate) fn units(&self) -> f64 {
        match *self {
            Throughput::Bytes(units)
            | Throughput::BytesDecimal(units)
            | Throughput::Elements(units)
            | Throughput::Bits(units)
            | Throughput::ElementsAndBytes { elements: units, .. } => units as f64,
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
