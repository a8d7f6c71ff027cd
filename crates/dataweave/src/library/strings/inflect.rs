//! English plurals and ordinals, by the rules that inflectors usually have.

use super::super::super::eval::{Eval, Result};
use super::super::native::{Args, Native, Overload, Param};
use super::super::null::NULL_1;

const ONE_PARAM: &[Param] = &[Param::TEXT];

pub(in crate::library) const FUNCTIONS: &[Native] = &[
    Native::new("pluralize", &[Overload::new(ONE_PARAM, pluralize), NULL_1]),
    Native::new("singularize", &[Overload::new(ONE_PARAM, singularize), NULL_1]),
    Native::new("ordinalize", &[Overload::new(&[Param::NUMBER], ordinalize), NULL_1]),
];

const UNCOUNTABLE: &[&str] =
    &["equipment", "information", "rice", "money", "species", "series", "fish", "sheep", "deer"];

/// Singular and plural that follow no rule.
const IRREGULAR: &[(&str, &str)] = &[
    ("person", "people"),
    ("man", "men"),
    ("child", "children"),
    ("sex", "sexes"),
    ("move", "moves"),
    ("foot", "feet"),
    ("tooth", "teeth"),
    ("goose", "geese"),
    ("thief", "thieves"),
    ("leave", "leaves"),
];

fn pluralize(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    eval.text(plural(&args.text(0)))
}

fn singularize(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    eval.text(singular(&args.text(0)))
}

fn ordinalize(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let number = args.int(0);
    let ending = match (number.rem_euclid(100), number) {
        (_, ..0) | (11..=13, _) => "th",
        (rest, _) => match rest % 10 {
            1 => "st",
            2 => "nd",
            3 => "rd",
            _ => "th",
        },
    };
    eval.text(format!("{number}{ending}"))
}

/// The word with its last letters replaced.
fn ending(word: &str, cut: usize, new: &str) -> String {
    let kept = word.len().saturating_sub(cut);
    format!("{}{new}", word.get(..kept).unwrap_or(word))
}

/// The word with its irregular ending replaced, keeping the case of the first letter.
fn irregular(word: &str, from: &str, to: &str) -> Option<String> {
    let lower = word.to_lowercase();
    if !lower.ends_with(from) || word.len() != lower.len() || lower.ends_with("human") {
        return None;
    }
    let start = word.len() - from.len();
    let first = word.get(start..start + 1)?;
    let rest = to.get(1..)?;
    Some(format!("{}{first}{rest}", word.get(..start)?))
}

fn is_uncountable(word: &str) -> bool {
    let lower = word.to_lowercase();
    UNCOUNTABLE.iter().any(|known| lower.ends_with(known))
}

fn is_consonant(c: char) -> bool {
    !matches!(c, 'a' | 'e' | 'i' | 'o' | 'u' | 'y')
}

fn plural(word: &str) -> String {
    if word.is_empty() || is_uncountable(word) {
        return word.to_owned();
    }
    for (one, many) in IRREGULAR {
        if let Some(found) = irregular(word, one, many) {
            return found;
        }
    }
    let lower = word.to_lowercase();
    let ends = |end: &str| lower.ends_with(end);
    let before = |count: usize| lower.chars().rev().nth(count).unwrap_or('a');
    if lower == "ox" {
        ending(word, 0, "en")
    } else if ends("quiz") {
        ending(word, 0, "zes")
    } else if ends("mouse") || ends("louse") {
        ending(word, 4, "ice")
    } else if ends("matrix") || ends("vertix") || ends("indix") || ends("ex") {
        ending(word, 2, "ices")
    } else if ends("x") || ends("ch") || ends("ss") || ends("sh") {
        ending(word, 0, "es")
    } else if ends("quy") || (ends("y") && is_consonant(before(1))) {
        ending(word, 1, "ies")
    } else if ends("fe") && before(2) != 'f' {
        ending(word, 2, "ves")
    } else if ends("lf") || ends("rf") {
        ending(word, 1, "ves")
    } else if ends("axis") || ends("testis") || ends("sis") {
        ending(word, 2, "es")
    } else if ends("tum") || ends("ium") {
        ending(word, 2, "a")
    } else if ["buffalo", "tomato", "alias", "status", "bus"].iter().any(|end| ends(end)) {
        ending(word, 0, "es")
    } else if ends("octopus") || ends("virus") {
        ending(word, 2, "i")
    } else if ends("s") || ends("octopi") || ends("viri") {
        word.to_owned()
    } else {
        ending(word, 0, "s")
    }
}

/// Words in `-ses` whose singular ends in `-sis`.
const SIS_STEMS: &[&str] = &["analy", "ba", "diagno", "parenthe", "progno", "synop", "the", "cri"];

fn singular(word: &str) -> String {
    if is_uncountable(word) {
        return word.to_owned();
    }
    for (one, many) in IRREGULAR {
        if let Some(found) = irregular(word, many, one) {
            return found;
        }
    }
    let lower = word.to_lowercase();
    let ends = |end: &str| lower.ends_with(end);
    let before = |count: usize| lower.chars().rev().nth(count).unwrap_or('a');
    if lower.len() < 2 || ends("news") || ends("alias") || ends("status") {
        return word.to_owned();
    }
    let stem = |cut: usize| lower.get(..lower.len().saturating_sub(cut)).unwrap_or_default();
    if lower == "oxen" {
        ending(word, 2, "")
    } else if ends("quizzes") {
        ending(word, 3, "")
    } else if ends("matrices") {
        ending(word, 4, "ix")
    } else if ends("vertices") || ends("indices") {
        ending(word, 4, "ex")
    } else if ends("aliases") || ends("statuses") || ends("buses") {
        ending(word, 2, "")
    } else if ends("octopi") || ends("viri") {
        ending(word, 1, "us")
    } else if ends("axes")
        || ends("testes")
        || (ends("ses") && SIS_STEMS.iter().any(|end| stem(3).ends_with(end)))
    {
        ending(word, 2, "is")
    } else if ends("shoes") || ends("movies") || ends("hives") || ends("tives") {
        ending(word, 1, "")
    } else if ends("mice") || ends("lice") {
        ending(word, 3, "ouse")
    } else if ["xes", "ches", "sses", "shes", "oes"].iter().any(|end| ends(end)) {
        ending(word, 2, "")
    } else if ends("quies") || (ends("ies") && is_consonant(before(3))) {
        ending(word, 3, "y")
    } else if ends("lves") || ends("rves") {
        ending(word, 3, "f")
    } else if ends("ves") && before(3) != 'f' {
        ending(word, 3, "fe")
    } else if ends("ta") || ends("ia") {
        ending(word, 1, "um")
    } else if ends("s") {
        ending(word, 1, "")
    } else {
        word.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals_and_back() {
        for (one, many) in [
            ("box", "boxes"),
            ("day", "days"),
            ("city", "cities"),
            ("knife", "knives"),
            ("wolf", "wolves"),
            ("analysis", "analyses"),
            ("child", "children"),
            ("Person", "People"),
            ("woman", "women"),
            ("human", "humans"),
            ("mouse", "mice"),
            ("ox", "oxen"),
            ("quiz", "quizzes"),
            ("datum", "data"),
            ("bus", "buses"),
            ("status", "statuses"),
            ("matrix", "matrices"),
            ("index", "indices"),
            ("series", "series"),
            ("thief", "thieves"),
            ("query", "queries"),
        ] {
            assert_eq!(plural(one), many);
            assert_eq!(singular(many), one);
        }
        assert_eq!(plural("CITY"), "CITies");
        assert_eq!(plural("leaf"), "leafs");
        assert_eq!(singular("houses"), "house");
    }
}
