//! All modules and what is in them.

use meantime_value::Value;

use super::native::{Constant, Native};
use super::{core, strings};

/// A module of the library.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) path: &'static str,
    functions: &'static [&'static [Native]],
    constants: &'static [Constant],
}

/// The functions of `dw::Core`.
const CORE: &[&[Native]] = &[
    core::array::FUNCTIONS,
    core::document::FUNCTIONS,
    core::function::FUNCTIONS,
    core::moment::FUNCTIONS,
    core::number::FUNCTIONS,
    core::object::FUNCTIONS,
    core::order::FUNCTIONS,
    core::text::FUNCTIONS,
];

/// The functions of `dw::core::Strings`.
const STRINGS: &[&[Native]] = &[
    strings::case::FUNCTIONS,
    strings::inflect::FUNCTIONS,
    strings::measure::FUNCTIONS,
    strings::part::FUNCTIONS,
    strings::shape::FUNCTIONS,
];

/// The modules.
pub(crate) static MODULES: &[Module] = &[
    Module::new("dw::Core", CORE),
    Module::new("dw::core::Strings", STRINGS),
    Module::new("dw::core::Arrays", &[super::arrays::FUNCTIONS]),
    Module::new("dw::core::Objects", &[super::objects::FUNCTIONS]),
    Module::new("dw::core::Numbers", &[super::numbers::FUNCTIONS]),
    Module::new("dw::core::Dates", &[super::dates::FUNCTIONS]),
    Module::new("dw::core::Periods", &[super::periods::FUNCTIONS]),
    Module::new("dw::core::Types", &[super::types::TYPE_QUERIES, super::types::FUNCTIONS]),
    Module::new("dw::core::Binaries", &[super::binaries::FUNCTIONS]),
    Module::new("dw::core::URL", &[super::url::FUNCTIONS]),
    Module::new("dw::util::Coercions", &[super::coercions::FUNCTIONS]),
    Module::new("dw::util::Math", &[super::math::FUNCTIONS]).with_constants(super::math::CONSTANTS),
    Module::new("dw::util::Tree", &[super::tree::FUNCTIONS]).with_constants(super::tree::CONSTANTS),
    Module::new("dw::util::Values", &[super::values::FUNCTIONS]),
    Module::new("dw::util::Timer", &[super::timer::FUNCTIONS]),
    Module::new("dw::util::Diff", &[super::diff::FUNCTIONS]),
    Module::new("dw::Crypto", &[super::crypto::FUNCTIONS]),
    Module::new("dw::Runtime", &[super::runtime::FUNCTIONS]),
    Module::new("dw::xml::Dtd", &[super::dtd::FUNCTIONS]),
];

/// Functions that are rejected by name, because they would reach outside of the script.
const REFUSED_FUNCTIONS: &[(&str, &str, &str)] = &[
    ("dw::Core", "readUrl", "`readUrl` is refused: a script reads nothing from outside"),
    ("dw::Runtime", "eval", "`eval` is refused: a script runs no other script"),
    ("dw::Runtime", "evalUrl", "`evalUrl` is refused: a script runs no other script"),
    ("dw::Runtime", "run", "`run` is refused: a script runs no other script"),
    ("dw::Runtime", "runUrl", "`runUrl` is refused: a script runs no other script"),
    ("dw::Runtime", "wait", "`wait` is refused: a script does not wait; use a timer"),
    ("dw::Runtime", "prop", "`prop` is refused: a script reads no settings of the host"),
    ("dw::Runtime", "props", "`props` is refused: a script reads no settings of the host"),
    ("dw::System", "", "`dw::System` is refused: a script reads nothing of the host"),
    ("dw::Mule", "", "`dw::Mule` is refused: there is no Mule runtime here"),
    ("dw::io::file::FileSystem", "", "`dw::io` is refused: a script touches no files"),
    ("dw::io::http::Client", "", "`dw::io` is refused: a script calls no services; use a task"),
];

impl Module {
    pub(super) const fn new(path: &'static str, functions: &'static [&'static [Native]]) -> Self {
        Self { path, functions, constants: &[] }
    }

    pub(super) const fn with_constants(self, constants: &'static [Constant]) -> Self {
        Self { constants, ..self }
    }

    pub(crate) fn native(&self, name: &str) -> Option<&'static Native> {
        self.functions.iter().flat_map(|group| group.iter()).find(|native| native.name == name)
    }

    pub(crate) fn constant(&self, name: &str) -> Option<Value> {
        self.constants.iter().find(|(known, _)| *known == name).map(|(_, value)| value())
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        let functions = self.functions.iter().flat_map(|group| group.iter());
        let constants = self.constants.iter().map(|(name, _)| *name);
        functions.map(|native| native.name).chain(constants)
    }
}

/// A module by its path.
pub(crate) fn module(path: &str) -> Option<&'static Module> {
    MODULES.iter().find(|module| module.path == path)
}

/// A function of a module.
pub(crate) fn find(path: &str, name: &str) -> Option<&'static Native> {
    module(path)?.native(name)
}

/// The module that contains a function with that name.
pub(crate) fn find_anywhere(name: &str) -> Option<&'static str> {
    MODULES.iter().find(|module| module.native(name).is_some()).map(|module| module.path)
}

/// Why a module or function is rejected.
pub(crate) fn refusal(path: &str, name: &str) -> Option<&'static str> {
    let is_it = |(module, function, _): &&(&str, &str, &str)| {
        *module == path && (function.is_empty() || *function == name)
    };
    REFUSED_FUNCTIONS.iter().find(is_it).map(|(_, _, reason)| *reason)
}
