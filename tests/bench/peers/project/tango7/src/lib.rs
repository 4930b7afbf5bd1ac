//! Contains only benchmarks.
