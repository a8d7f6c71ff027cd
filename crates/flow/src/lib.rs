//! The notation of flow scripts, on top of the language in `meantime_expr::script`.
