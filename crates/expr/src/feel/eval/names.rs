//! Names that an expression itself introduces: iterations, parameters, contexts.

use std::sync::Arc;

use crate::value::{Object, Value};

/// A chain of frames, innermost first. Cheap to clone, so functions can keep theirs.
#[derive(Debug, Clone, Default)]
pub(in crate::feel) struct Names(Option<Arc<Frame>>);

#[derive(Debug)]
struct Frame {
    what: What,
    outer: Names,
}

#[derive(Debug)]
enum What {
    One(String, Value),
    Object(Arc<Object>),
}

impl Names {
    pub(in crate::feel) fn with(&self, name: &str, value: Value) -> Self {
        let what = What::One(name.to_owned(), value);
        Self(Some(Arc::new(Frame { what, outer: self.clone() })))
    }

    pub(in crate::feel) fn with_object(&self, object: Arc<Object>) -> Self {
        Self(Some(Arc::new(Frame { what: What::Object(object), outer: self.clone() })))
    }

    pub(in crate::feel) fn get(&self, name: &str) -> Option<Value> {
        let mut at = &self.0;
        while let Some(frame) = at {
            let found = match &frame.what {
                What::One(own, value) => (own == name).then(|| value.clone()),
                What::Object(object) => object.get(name).cloned(),
            };
            if found.is_some() {
                return found;
            }
            at = &frame.outer.0;
        }
        None
    }
}
