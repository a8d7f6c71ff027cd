//! Suggestions for misspelt names.

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

/// The most similar name, if one is similar enough.
pub(super) fn did_you_mean<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<String> {
    let limit = (name.chars().count() / 3).clamp(1, 3);
    let near = |known: &'n str| {
        let distance = strsim::levenshtein(&name.to_lowercase(), &known.to_lowercase());
        (distance <= limit && !known.starts_with('$')).then_some((distance, known))
    };
    let (_, nearest) = names.filter(|known| !known.is_empty()).filter_map(near).min()?;
    Some(format!("did you mean `{nearest}`?"))
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
