//! The `meantime` binary.

fn main() {}
