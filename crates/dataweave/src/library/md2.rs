//! The hash MD2, which our dependencies do not have. It is not secure; old systems still use it.

const BLOCK_BYTES: usize = 16;
const ROUNDS: u8 = 18;

/// The hash of some bytes.
pub(super) fn md2(message: &[u8]) -> Vec<u8> {
    let padding = BLOCK_BYTES - message.len() % BLOCK_BYTES;
    let mut padded = message.to_vec();
    padded.extend(std::iter::repeat_n(u8::try_from(padding).unwrap_or(0), padding));
    let checksum = checksum(&padded);
    padded.extend(checksum);
    let mut state = [0; 3 * BLOCK_BYTES];
    for block in padded.chunks(BLOCK_BYTES) {
        for (index, byte) in block.iter().enumerate() {
            state[BLOCK_BYTES + index] = *byte;
            state[2 * BLOCK_BYTES + index] = *byte ^ state[index];
        }
        mix(&mut state);
    }
    state[..BLOCK_BYTES].to_vec()
}

fn checksum(padded: &[u8]) -> [u8; BLOCK_BYTES] {
    let (mut sum, mut last) = ([0; BLOCK_BYTES], 0);
    for block in padded.chunks(BLOCK_BYTES) {
        for (index, byte) in sum.iter_mut().zip(block) {
            *index ^= PI_SUBSTITUTION[usize::from(byte ^ last)];
            last = *index;
        }
    }
    sum
}

fn mix(state: &mut [u8; 3 * BLOCK_BYTES]) {
    let mut last = 0_u8;
    for round in 0..ROUNDS {
        for byte in state.iter_mut() {
            *byte ^= PI_SUBSTITUTION[usize::from(last)];
            last = *byte;
        }
        last = last.wrapping_add(round);
    }
}

/// A permutation of all bytes, derived from the digits of pi.
#[rustfmt::skip]
const PI_SUBSTITUTION: [u8; 256] = [
    41, 46, 67, 201, 162, 216, 124, 1, 61, 54, 84, 161, 236, 240, 6, 19, 98, 167, 5, 243, 192,
    199, 115, 140, 152, 147, 43, 217, 188, 76, 130, 202, 30, 155, 87, 60, 253, 212, 224, 22, 103,
    66, 111, 24, 138, 23, 229, 18, 190, 78, 196, 214, 218, 158, 222, 73, 160, 251, 245, 142, 187,
    47, 238, 122, 169, 104, 121, 145, 21, 178, 7, 63, 148, 194, 16, 137, 11, 34, 95, 33, 128, 127,
    93, 154, 90, 144, 50, 39, 53, 62, 204, 231, 191, 247, 151, 3, 255, 25, 48, 179, 72, 165, 181,
    209, 215, 94, 146, 42, 172, 86, 170, 198, 79, 184, 56, 210, 150, 164, 125, 182, 118, 252, 107,
    226, 156, 116, 4, 241, 69, 157, 112, 89, 100, 113, 135, 32, 134, 91, 207, 101, 230, 45, 168,
    2, 27, 96, 37, 173, 174, 176, 185, 246, 28, 70, 97, 105, 52, 64, 126, 15, 85, 71, 163, 35,
    221, 81, 175, 58, 195, 92, 249, 206, 186, 197, 234, 38, 44, 83, 13, 110, 133, 40, 132, 9, 211,
    223, 205, 244, 65, 129, 77, 82, 106, 220, 55, 200, 108, 193, 171, 250, 36, 225, 123, 8, 12,
    189, 177, 74, 120, 136, 149, 139, 227, 99, 232, 109, 233, 203, 213, 254, 59, 0, 29, 57, 242,
    239, 183, 14, 102, 88, 208, 228, 166, 119, 114, 248, 235, 117, 75, 10, 49, 68, 80, 180, 143,
    237, 31, 26, 219, 153, 141, 51, 159, 17, 131, 20,
];
