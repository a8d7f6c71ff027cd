//! `dw::core::Strings`.

mod case;
mod inflect;
mod list;
mod measure;
mod part;
mod shape;

pub(crate) use list::FUNCTIONS;
