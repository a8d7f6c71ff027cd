//! Functions of `Math` whose last bit depends on how they are computed. These are computed as the
//! engines of browsers do it, by the methods of Sun's library (fdlibm), so that results are theirs.

#![expect(
    clippy::many_single_char_names,
    clippy::float_cmp,
    reason = "the names of the literature; single values are meant exactly"
)]

use std::f64::consts::{FRAC_2_PI, LOG10_E};

/// The upper half of a double.
const fn high(value: f64) -> u32 {
    (value.to_bits() >> 32) as u32
}

/// A double from its upper half.
const fn from_high(high: u32) -> f64 {
    f64::from_bits((high as u64) << 32)
}

/// Beyond this angle a reduction needs hundreds of digits of pi.
const LARGEST_ANGLE: f64 = 1_647_099.0;

pub(super) fn exp(value: f64) -> f64 {
    // The nearest double to e, which the method misses by one.
    if value == 1.0 { std::f64::consts::E } else { libm::exp(value) }
}

pub(super) fn cbrt(value: f64) -> f64 {
    const P: [f64; 5] = [
        1.875_951_824_271_77,
        -1.884_979_795_433_771_7,
        1.621_429_720_105_354_5,
        -0.758_397_934_778_766,
        0.145_996_192_886_612_45,
    ];
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let sign = high(value) & 0x8000_0000;
    let top = high(value) & 0x7fff_ffff;
    let guess = if top < 0x0010_0000 {
        let scaled = high(value * 18_014_398_509_481_984.0) & 0x7fff_ffff;
        from_high(sign | (scaled / 3 + 696_219_795))
    } else {
        from_high(sign | (top / 3 + 715_094_163))
    };
    let r = (guess * guess) * (guess / value);
    let t = guess * ((P[0] + r * (P[1] + r * P[2])) + ((r * r) * r) * (P[3] + r * P[4]));
    let t = f64::from_bits(t.to_bits().wrapping_add(0x8000_0000) & 0xffff_ffff_c000_0000);
    let r = value / (t * t);
    let r = (r - t) / ((t + t) + r);
    t + t * r
}

pub(super) fn log10(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() || value == 1.0 {
        return libm::log10(value);
    }
    let (mut x, mut k) = (value, 0i32);
    if high(x) < 0x0010_0000 {
        (x, k) = (x * 18_014_398_509_481_984.0, -54);
    }
    k += (high(x) >> 20).cast_signed() - 1023;
    let below = u32::from(k < 0);
    let top = (high(x) & 0x000f_ffff) | ((0x3ff - below) << 20);
    let x = f64::from_bits((u64::from(top) << 32) | (x.to_bits() & 0xffff_ffff));
    let y = f64::from(k + below.cast_signed());
    let z = y * 3.694_239_077_158_931e-13 + LOG10_E * libm::log(x);
    z + y * 0.301_029_995_663_611_77
}

/// Sine and cosine; nothing for angles that are too large.
pub(super) fn sin(angle: f64) -> Option<f64> {
    turned(angle, 0)
}

pub(super) fn cos(angle: f64) -> Option<f64> {
    turned(angle, 1)
}

/// The sine of an angle and so many quarters of a turn.
fn turned(angle: f64, quarters: i32) -> Option<f64> {
    if !angle.is_finite() {
        return Some(f64::NAN);
    }
    if angle.abs() > LARGEST_ANGLE {
        return None;
    }
    let (n, y, rest) = reduced(angle);
    Some(match (n + quarters) & 3 {
        0 => near_sin(y, rest, n != 0),
        1 => near_cos(y, rest),
        2 => -near_sin(y, rest, n != 0),
        _ => -near_cos(y, rest),
    })
}

/// An angle as a number of quarter turns, and what is left in two parts.
#[expect(clippy::cast_possible_truncation, reason = "the angle is limited")]
fn reduced(angle: f64) -> (i32, f64, f64) {
    const PARTS: [(f64, f64); 3] = [
        (1.570_796_326_734_125_6, 6.077_100_506_506_192e-11),
        (6.077_100_506_303_966e-11, 2.022_266_248_795_950_6e-21),
        (2.022_266_248_711_166_5e-21, 8.478_427_660_368_9e-32),
    ];
    let top = high(angle) & 0x7fff_ffff;
    if top <= 0x3fe9_21fb {
        return (0, angle, 0.0);
    }
    let size = angle.abs();
    let n = (size * FRAC_2_PI + 0.5) as i32;
    let turns = f64::from(n);
    let mut r = size - turns * PARTS[0].0;
    let mut w = turns * PARTS[0].1;
    let mut y = r - w;
    let exponent = |value: f64| ((high(value) >> 20) & 0x7ff).cast_signed();
    for (part, lost) in [(PARTS[1], 16), (PARTS[2], 49)] {
        // Digits that cancelled out are made up by the next part of pi.
        if (top >> 20).cast_signed() - exponent(y) <= lost {
            break;
        }
        let t = r;
        w = turns * part.0;
        r = t - w;
        w = turns * part.1 - ((t - r) - w);
        y = r - w;
    }
    let rest = (r - y) - w;
    if angle < 0.0 { (-n, -y, -rest) } else { (n, y, rest) }
}

fn near_sin(x: f64, y: f64, has_rest: bool) -> f64 {
    if x.abs() < 7.450_580_596_923_828e-9 {
        return x;
    }
    let z = x * x;
    let v = z * x;
    let r = 8.333_333_333_322_49e-3
        + z * (-1.984_126_982_985_795e-4
            + z * (2.755_731_370_707_006_8e-6
                + z * (-2.505_076_025_340_686_3e-8 + z * 1.589_690_995_211_55e-10)));
    let first = -1.666_666_666_666_663_2e-1;
    if has_rest { x - ((z * (0.5 * y - v * r) - y) - v * first) } else { x + v * (first + z * r) }
}

fn near_cos(x: f64, y: f64) -> f64 {
    let top = high(x) & 0x7fff_ffff;
    if top < 0x3e40_0000 {
        return 1.0;
    }
    let z = x * x;
    let r = z
        * (4.166_666_666_666_66e-2
            + z * (-1.388_888_888_887_411e-3
                + z * (2.480_158_728_947_673e-5
                    + z * (-2.755_731_435_139_066_3e-7
                        + z * (2.087_572_321_298_175e-9 + z * -1.135_964_755_778_819_5e-11)))));
    if top < 0x3fd3_3333 {
        return 1.0 - (0.5 * z - (z * r - x * y));
    }
    let quarter = if top > 0x3fe9_0000 { 0.28125 } else { from_high(top - 0x0020_0000) };
    (1.0 - quarter) - ((0.5 * z - quarter) - (z * r - x * y))
}
