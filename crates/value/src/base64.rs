//! Base 64, used by several languages.

/// The digits, by their value.
pub const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes as text, padded.
pub fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for position in 0..4_usize {
            if position > group.len() {
                out.push('=');
            } else {
                let index = bits >> (18 - 6 * position) & 0x3f;
                out.push(char::from(DIGITS[index as usize]));
            }
        }
    }
    out
}
