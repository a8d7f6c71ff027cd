//! What somebody may have meant.

use super::super::library::module;
use super::compiler::Compiler;

impl Compiler<'_> {
    pub(super) fn similar_name(&self, name: &str) -> Option<String> {
        let mut names: Vec<&str> = self.scope.names().collect();
        let core = module("dw::Core").into_iter();
        for module in self.scope.open_modules.iter().copied().chain(core) {
            for known in module.names() {
                names.push(known);
            }
        }
        did_you_mean(name, names.into_iter())
    }
}

/// The nearest of the names, if one is near enough.
pub(super) fn did_you_mean<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<String> {
    let limit = (name.chars().count() / 3).clamp(1, 3);
    let near = |known: &'n str| {
        let distance = distance(&name.to_lowercase(), &known.to_lowercase());
        (distance <= limit && !known.starts_with('$')).then_some((distance, known))
    };
    let (_, nearest) = names.filter(|known| !known.is_empty()).filter_map(near).min()?;
    Some(format!("did you mean `{nearest}`?"))
}

/// Edits that turn one word into the other.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.chars().enumerate() {
        let mut diagonal = i;
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
        for (j, b) in right.iter().enumerate() {
            let substituted = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested() {
        let names = ["payload", "upper", "sizeOf", "$"];
        let suggest = |name| did_you_mean(name, names.into_iter());
        assert_eq!(suggest("paylod").as_deref(), Some("did you mean `payload`?"));
        assert_eq!(suggest("sizeof").as_deref(), Some("did you mean `sizeOf`?"));
        assert_eq!(suggest("x"), None);
        assert_eq!(suggest("length"), None);
    }
}
