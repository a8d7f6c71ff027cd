//! Patterns that are matched in time linear in the length of the text.

use regex_automata::hybrid::dfa;
use regex_automata::meta;
use regex_automata::nfa::thompson::{self, NFA};
use regex_automata::util::captures::Captures;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input};
use regex_syntax::hir::{Hir, Look};

use super::expression::{GroupSpans, InvalidPattern, MAX_COMPILED_BYTES, Result, spend};

/// Bytes of text times states of the automaton per operation. A state takes at most a few
/// nanoseconds, an operation at most about a microsecond.
const STATE_VISITS_PER_OP: u64 = 512;

/// A pattern without look-around and back-references.
#[derive(Debug)]
pub(super) struct LinearMatcher {
    any: meta::Regex,
    whole: meta::Regex,
    nfa: NFA,
    /// Measures how far a search reads; `None` if the automaton cannot be built.
    scanner: Option<dfa::DFA>,
}

impl LinearMatcher {
    /// Compiles; `None` if the pattern needs another engine, or is invalid.
    pub(super) fn new(translated: &str) -> Result<Option<Self>, InvalidPattern> {
        let Ok(hir) = syntax::parse(translated) else { return Ok(None) };
        let too_large = || InvalidPattern::new("it is too large");
        let limit = thompson::Config::new().nfa_size_limit(Some(MAX_COMPILED_BYTES));
        let nfa = thompson::Compiler::new().configure(limit).build_from_hir(&hir);
        let nfa = nfa.map_err(|_| too_large())?;
        let build = |hir: &Hir| {
            let limits = meta::Config::new().nfa_size_limit(Some(MAX_COMPILED_BYTES));
            meta::Builder::new().configure(limits).build_from_hir(hir).map_err(|_| too_large())
        };
        let any = build(&hir)?;
        let whole = build(&Hir::concat(vec![Hir::look(Look::Start), hir, Hir::look(Look::End)]))?;
        let config = dfa::Config::new().unicode_word_boundary(true).skip_cache_capacity_check(true);
        let scanner = dfa::DFA::builder().configure(config).build_from_nfa(nfa.clone()).ok();
        Ok(Some(Self { any, whole, nfa, scanner }))
    }

    /// States of the automaton.
    pub(super) fn size(&self) -> usize {
        self.nfa.states().len()
    }

    /// The operations for reading this many bytes.
    fn ops_of(&self, bytes: usize) -> u64 {
        let work = (bytes as u64).saturating_mul(self.size() as u64);
        (work / STATE_VISITS_PER_OP).saturating_add(bytes as u64 / 64).saturating_add(1)
    }

    pub(super) fn is_match(&self, text: &str, ops: &mut u64) -> Result<bool> {
        spend(ops, self.ops_of(text.len()))?;
        Ok(self.any.is_match(text))
    }

    pub(super) fn match_whole(&self, text: &str, ops: &mut u64) -> Result<Option<GroupSpans>> {
        spend(ops, self.ops_of(text.len()))?;
        let mut captures = self.whole.create_captures();
        self.whole.search_captures(&Input::new(text).anchored(Anchored::Yes), &mut captures);
        Ok(spans_of(&captures))
    }

    /// The cache of a series of searches.
    pub(super) fn scan(&self) -> Option<dfa::Cache> {
        self.scanner.as_ref().map(dfa::DFA::create_cache)
    }

    /// The first match from a position on.
    ///
    /// Each of many searches in one text may read all the rest of it, so the bytes that each reads
    /// are counted before it runs.
    pub(super) fn find(
        &self,
        scan: &mut Option<dfa::Cache>,
        text: &str,
        from: usize,
        ops: &mut u64,
    ) -> Result<Option<GroupSpans>> {
        spend(ops, self.ops_of(self.scanned_bytes(scan, text, from)))?;
        let mut captures = self.any.create_captures();
        self.any.search_captures(&Input::new(text).range(from..), &mut captures);
        Ok(spans_of(&captures))
    }

    /// How many bytes a search from a position reads.
    fn scanned_bytes(&self, cache: &mut Option<dfa::Cache>, text: &str, from: usize) -> usize {
        let rest = text.as_bytes().get(from..).unwrap_or_default();
        let (Some(dfa), Some(cache)) = (&self.scanner, cache) else { return rest.len() };
        let Ok(mut state) = dfa.start_state_forward(cache, &Input::new(text).range(from..)) else {
            return rest.len();
        };
        for (index, byte) in rest.iter().enumerate() {
            match dfa.next_state(cache, state, *byte) {
                Ok(next) if next.is_dead() => return index.saturating_add(1),
                Ok(next) if !next.is_quit() => state = next,
                _ => return rest.len(),
            }
        }
        rest.len()
    }
}

fn spans_of(captures: &Captures) -> Option<GroupSpans> {
    let span = |group| captures.get_group(group).map(|span| (span.start, span.end));
    captures.is_match().then(|| (0..captures.group_len()).map(span).collect())
}
