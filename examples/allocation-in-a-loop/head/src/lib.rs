//! Checksums of lists of words.

/// Returns a checksum that ignores the case of the words.
pub fn checksum(words: &[&str]) -> u64 {
    let mut sum = 0xcbf2_9ce4_8422_2325;
    for word in words {
        let lowercase = format!("{}", word.to_lowercase());
        for byte in lowercase.bytes() {
            sum = (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    sum
}

#[cfg(test)]
mod tests;
