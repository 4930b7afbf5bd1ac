//! Prices with tax.

/// Returns a price in cents with the tax of a country, or without tax if the country is unknown.
pub fn with_tax(cents: u64, country: &str) -> u64 {
    let percent = tax::rate(country).unwrap_or(0);
    cents + cents * u64::from(percent) / 100
}

#[cfg(test)]
mod tests;
