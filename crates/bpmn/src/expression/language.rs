//! The languages that expressions and scripts may name.

/// A supported language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Feel,
    /// The flow language, a subset of JavaScript.
    Flow,
    DataWeave,
}

impl Language {
    /// The language of a `language` or `scriptFormat` attribute.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let name = name.trim().to_ascii_lowercase();
        match name.as_str() {
            "feel" => Some(Self::Feel),
            "javascript"
            | "ecmascript"
            | "js"
            | "flow"
            | "text/javascript"
            | "application/javascript" => Some(Self::Flow),
            "dataweave" | "dw" | "application/dw" => Some(Self::DataWeave),
            // The standard names FEEL by a URL.
            other if other.starts_with("http") && other.contains("feel") => Some(Self::Feel),
            other if other.contains("dmn") && other.contains("feel") => Some(Self::Feel),
            _ => None,
        }
    }
}
