//! Flags, and why a pattern is rejected.

/// The flags of a regular expression.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    pub(crate) global: bool,
    pub(crate) ignore_case: bool,
    pub(crate) multiline: bool,
    pub(crate) dot_all: bool,
    pub(crate) unicode: bool,
    pub(crate) sticky: bool,
}

impl Flags {
    /// The flags of a text, or what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, RegexError> {
        let mut flags = Self::default();
        for c in text.chars() {
            let flag = match c {
                'g' => &mut flags.global,
                'i' => &mut flags.ignore_case,
                'm' => &mut flags.multiline,
                's' => &mut flags.dot_all,
                'u' => &mut flags.unicode,
                'y' => &mut flags.sticky,
                'd' | 'v' => return Err(RegexError::unsupported(format!("the flag `{c}`"))),
                _ => return Err(RegexError::syntax(format!("there is no flag `{c}`"))),
            };
            if std::mem::replace(flag, true) {
                return Err(RegexError::syntax(format!("the flag `{c}` is given twice")));
            }
        }
        Ok(flags)
    }

    /// The flags in the order of JavaScript.
    pub(crate) fn text(self) -> String {
        let all = [
            ('g', self.global),
            ('i', self.ignore_case),
            ('m', self.multiline),
            ('s', self.dot_all),
            ('u', self.unicode),
            ('y', self.sticky),
        ];
        all.into_iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| flag).collect()
    }
}

/// Why a pattern is rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RegexError {
    pub(crate) message: String,
    /// Whether JavaScript accepts the pattern.
    pub(crate) is_unsupported: bool,
}

impl RegexError {
    pub(super) fn syntax(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_unsupported: false }
    }

    pub(super) fn unsupported(message: impl Into<String>) -> Self {
        let message = format!("{} is not in the language", message.into());
        Self { message, is_unsupported: true }
    }
}
