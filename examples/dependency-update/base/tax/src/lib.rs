//! Rates of tax.

/// Returns the rate of a country in percent.
pub fn rate(country: &str) -> Option<u32> {
    match country {
        "AT" => Some(20),
        "DE" => Some(19),
        "FR" => Some(20),
        "SE" => Some(25),
        _ => None,
    }
}
