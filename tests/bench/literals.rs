//! Alternative values of literals.

/// Returns another number of the same type; `None` for numbers of more than 128 bits.
pub fn other_number(int: &syn::LitInt) -> Option<String> {
    let value: u128 = int.base10_parse().ok()?;
    // The greatest value of a type plus one does not compile.
    let is_greatest = value >= 127 && value.checked_add(1).is_none_or(u128::is_power_of_two);
    let other = if is_greatest { value - 1 } else { value + 1 };
    Some(format!("{other}{}", int.suffix()))
}

/// Returns the offset of a letter in a string literal's source text, and another letter. Escapes and placeholders of
/// format strings are not changed.
pub fn other_letter(literal: &str, digits: bool) -> Option<(usize, char)> {
    let start = literal.find('"')?;
    // Raw strings are skipped, because a backslash is an ordinary letter there.
    if literal[..start].contains('r') {
        return None;
    }
    let bytes = literal.as_bytes();
    let mut depth = 0;
    let mut at = start + 1;
    while at + 1 < bytes.len() {
        match bytes[at] {
            // The longest escape without braces is `\x7f`.
            b'\\' => at += 3,
            b'{' => depth += 1,
            b'}' => depth -= 1,
            byte if depth == 0 && (byte.is_ascii_alphabetic() || digits && byte.is_ascii_digit()) => {
                return Some((at, other(byte)));
            }
            _ => {}
        }
        at += 1;
    }
    None
}

fn other(byte: u8) -> char {
    let (first, last) = match byte {
        b'0'..=b'9' => (b'0', b'9'),
        b'a'..=b'z' => (b'a', b'z'),
        _ => (b'A', b'Z'),
    };
    char::from(if byte == last { first } else { byte + 1 })
}
