//! Mutations of valid texts.

use crate::case_random::CaseRandom;

/// Limit of the input in bytes. Longer inputs take longer and find little more.
const MAX_INPUT_BYTES: usize = 20_000;

/// Extreme values of numbers, texts and times.
const EDGE_CASE_TEXTS: &[&str] = &[
    "0",
    "-1",
    "1",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    "1e308",
    "1e-5000",
    "1e5000",
    "0.1",
    "-0",
    "NaN",
    "null",
    "true",
    "\"\"",
    "''",
    "[]",
    "{}",
    "()",
    "P1Y2M10DT2H30M",
    "PT0S",
    "-P1D",
    "P99999999Y",
    "2026-02-29",
    "2026-01-31T23:59:60Z",
    "9999-12-31T23:59:59.999999999Z",
    "-0001-01-01",
    "Europe/Berlin",
    "R/PT1S",
    "* * * * *",
    "\u{0}",
    "\u{feff}",
    "é",
    "😀",
    "\u{2028}",
    "\\",
    "\"",
    "'",
    "`",
    "\n",
    "\t",
    "${",
    "}",
    "$$",
    "[[",
    "]]",
    "((",
    "))",
    "{{",
    "}}",
    "<<",
    ">>",
    "&&",
    "||",
    "::",
    "..",
    "/*",
    "*/",
    "//",
    "--",
];

/// A mutation of one of the seeds.
pub(crate) fn mutate_seed(seeds: &[String], words: &[&str], random: &mut CaseRandom) -> String {
    let texts: Vec<&str> = seeds.iter().map(String::as_str).collect();
    let mut text = random.pick(&texts).unwrap_or_default().to_owned();
    // Zero mutations are possible: then the code after the parser gets valid input.
    for _ in 0..random.below(8) {
        mutate_once(&mut text, &texts, words, random);
        truncate_to(&mut text, MAX_INPUT_BYTES);
    }
    text
}

fn mutate_once(text: &mut String, seeds: &[&str], words: &[&str], random: &mut CaseRandom) {
    let at = char_boundary_before(text, random.below(text.len().saturating_add(1)));
    let end = char_boundary_before(text, at.saturating_add(random.below(40)));
    let part = text.get(at..end).unwrap_or_default().to_owned();
    match random.below(10) {
        0 => text.replace_range(at..end, ""),
        1 => text.insert_str(at, random.pick(EDGE_CASE_TEXTS).unwrap_or_default()),
        2 => text.replace_range(at..end, random.pick(EDGE_CASE_TEXTS).unwrap_or_default()),
        3 | 4 => text.insert_str(at, random.pick(words).unwrap_or_default()),
        5 => text.replace_range(at..end, random.pick(words).unwrap_or_default()),
        6 => {
            let times = [2, 3, 17, 300, 2_000].get(random.below(5)).copied().unwrap_or(2);
            text.insert_str(at, &part.repeat(times.min(MAX_INPUT_BYTES / part.len().max(1))));
        }
        7 => {
            let other = random.pick(seeds).unwrap_or_default();
            let from = char_boundary_before(other, random.below(other.len().saturating_add(1)));
            let to = char_boundary_before(other, from.saturating_add(random.below(400)));
            text.insert_str(at, other.get(from..to).unwrap_or_default());
        }
        8 => {
            let code = u32::try_from(random.below(0x300)).unwrap_or(0);
            text.insert(at, char::from_u32(code).unwrap_or('\u{fffd}'));
        }
        _ => {
            let to = char_boundary_before(text, random.below(text.len().saturating_add(1)));
            text.insert_str(to, &part);
        }
    }
}

fn truncate_to(text: &mut String, most: usize) {
    if text.len() > most {
        let end = char_boundary_before(text, most);
        text.truncate(end);
    }
}

/// The nearest character boundary at or before `at`.
fn char_boundary_before(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Bytes with a few of them changed.
pub(crate) fn corrupt_bytes(bytes: &[u8], random: &mut CaseRandom) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..random.below(6) {
        let at = random.below(bytes.len().saturating_add(1)).min(bytes.len());
        match random.below(4) {
            0 => bytes.truncate(at),
            1 => {
                let byte = u8::try_from(random.below(256)).unwrap_or(0);
                bytes.insert(at, byte);
            }
            2 => {
                let end = at.saturating_add(random.below(16)).min(bytes.len());
                let part = bytes.get(at..end).unwrap_or_default().to_vec();
                bytes.splice(at..at, part);
            }
            _ => {
                let byte = [0, 1, 0x1f, 0x5f, 0x7f, 0x80, 0x9f, 0xbf, 0xdf, 0xff];
                let byte = byte.get(random.below(10)).copied().unwrap_or(0);
                if let Some(place) = bytes.get_mut(at) {
                    *place = byte;
                }
            }
        }
    }
    bytes
}
