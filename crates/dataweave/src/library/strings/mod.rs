//! `dw::core::Strings`.

pub(super) mod case;
pub(super) mod inflect;
pub(super) mod measure;
pub(super) mod part;
pub(super) mod shape;
