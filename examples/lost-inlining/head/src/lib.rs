//! Brightness of pictures.

/// Returns the perceived brightness of a pixel.
#[inline(never)]
fn brightness(pixel: u32) -> u32 {
    let [red, green, blue, _] = pixel.to_le_bytes().map(u32::from);
    (red * 2 + green * 5 + blue) >> 3
}

/// Returns the sum of the brightness of all pixels.
pub fn exposure(pixels: &[u32]) -> u32 {
    pixels.iter().map(|pixel| brightness(*pixel)).fold(0, u32::wrapping_add)
}

#[cfg(test)]
mod tests;
