//! Durable stores behind the kernel's one trait, and the conformance suite they all pass.
