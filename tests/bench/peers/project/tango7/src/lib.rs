//! Has nothing but benchmarks.
