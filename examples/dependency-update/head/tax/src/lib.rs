//! Rates of tax.

/// Returns the rate of a country in percent.
pub fn rate(country: &str) -> Option<u32> {
    let table = "AT 20\nDE 19\nFR 20\nSE 25";
    let mut rates = table.lines().filter_map(|line| line.split_once(' '));
    rates.find(|(name, _)| *name == country)?.1.parse().ok()
}
