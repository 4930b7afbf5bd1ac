//! Figures in the output of criterion and divan.

/// Parses `[−8.2% −3.7% +1.2%]` to fractions. The minus sign is not ASCII.
pub fn changes(line: &str) -> Option<[f64; 3]> {
    let inside = line.split_once('[')?.1.split_once(']')?.0.replace('\u{2212}', "-");
    let numbers = inside.split_whitespace().map(|text| text.trim_end_matches('%').parse::<f64>().ok());
    let numbers: Vec<f64> = numbers.collect::<Option<_>>()?;
    let [low, change, high] = numbers.try_into().ok()?;
    Some([low, change, high].map(|percent: f64| percent / 100.0))
}

/// Parses a time of divan such as `12.3 µs`.
pub fn nanoseconds(text: &str) -> Option<f64> {
    let (number, unit) = text.trim().split_once(' ')?;
    let scale = match unit {
        "ps" => 1e-3,
        "ns" => 1.0,
        "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * scale)
}
