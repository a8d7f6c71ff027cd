//! What the build script found: the page and its files, or why there are none.

/// A file of the console with its path below `/`.
#[derive(Debug, Clone, Copy)]
pub struct ConsoleFile {
    /// For example `assets/index-4f2a91c0.js`: the name contains a hash of the content.
    pub path: &'static str,
    /// The content, compressed with gzip.
    pub gzip: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/console.rs"));
