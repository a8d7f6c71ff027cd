//! Programs whose output shows the order in which promises and async functions continue.

use super::SeededChoice;

/// Programs written by hand, separated by lines with `---`.
const WRITTEN: &str = include_str!("programs.txt");

/// How many are generated.
const GENERATED: usize = 2_000;

/// All programs, in a fixed order.
pub(in crate::vectors) fn programs() -> Vec<String> {
    let written = WRITTEN.split("\n---\n").map(|it| it.trim().to_owned());
    let mut choice = SeededChoice(0x0070_726f_6d69_7365);
    let generated = (0..GENERATED).map(|_| Generator::new(&mut choice).program());
    written.filter(|it| !it.is_empty()).chain(generated).collect()
}

/// Writes one program. Each output has a number of its own, and so has each delay.
struct Generator<'c> {
    choice: &'c mut SeededChoice,
    next: usize,
    /// What the program may still contain.
    left: usize,
    /// Whether it may call `f` and `g`; they do not call each other, or they would never end.
    calls: bool,
}

impl<'c> Generator<'c> {
    fn new(choice: &'c mut SeededChoice) -> Self {
        let left = 6 + choice.below(14);
        Self { choice, next: 0, left, calls: false }
    }

    fn program(mut self) -> String {
        let f = self.block(2);
        let g = self.block(2);
        self.calls = true;
        let mut main = String::new();
        for _ in 0..2 + self.choice.below(4) {
            main.push_str(&self.statement(3));
        }
        format!(
            "async function f(a) {{ {f}return a }} const g = async a => {{ {g}throw a }}; {main}log(\"end\")"
        )
    }

    fn number(&mut self) -> usize {
        self.next += 1;
        self.next
    }

    fn block(&mut self, depth: usize) -> String {
        let count = 1 + self.choice.below(2);
        (0..count).map(|_| self.statement(depth)).collect()
    }

    fn log(&mut self) -> String {
        format!("log({});", self.number())
    }

    fn statement(&mut self, depth: usize) -> String {
        self.left = self.left.saturating_sub(1);
        if depth == 0 || self.left == 0 {
            return self.log();
        }
        let deeper = depth - 1;
        let number = self.number();
        match self.choice.below(13) {
            0 => self.log(),
            1 => format!("log({number}, await {});", self.settles(deeper)),
            2 => format!(
                "try {{ log({number}, await {}) }} catch (e) {{ log({number}, \"!\", e) }}",
                self.promise(deeper)
            ),
            3 => format!("{}.then(v => {{ log({number}, v) }});", self.settles(deeper)),
            4 => format!("{}.catch(e => {{ log({number}, e) }});", self.promise(deeper)),
            5 => format!("for (const x of [1, 2]) {{ {}log({number}, x) }}", self.block(deeper)),
            6 => format!(
                "log({number}, await Promise.all([1, 2].map(async x => {{ {}return x }})));",
                self.block(deeper)
            ),
            7 => format!(
                "try {{ {} }} finally {{ log({number}); {} }}",
                self.block(deeper),
                self.block(deeper)
            ),
            8 => format!(
                "const p{number} = {}; {}log(await p{number});",
                self.settles(deeper),
                self.statement(deeper)
            ),
            9 => format!("await null; log({number});"),
            10 => format!("await sleep({}); log({number});", self.delay()),
            11 => format!(
                "try {{ {}if ({number} % 2) throw {number}; }} catch (e) {{ log(e); {} }}",
                self.block(deeper),
                self.block(deeper)
            ),
            _ => format!("{};", self.settles(deeper)),
        }
    }

    fn delay(&mut self) -> usize {
        self.choice.below(20) * 1_000 + self.number()
    }

    /// A promise whose error is handled.
    fn settles(&mut self, depth: usize) -> String {
        let number = self.number();
        if self.choice.below(12) == 0 {
            return self.promise(depth);
        }
        format!(
            "{}.catch(e => {{ log({number}, \"!\", e); return {number} }})",
            self.promise(depth)
        )
    }

    fn value(&mut self, depth: usize) -> String {
        let number = self.number();
        match self.choice.below(4) {
            0 if depth > 0 => self.promise(depth),
            1 if depth > 0 => format!(
                "{{ then(yes, no) {{ log({number}); {}({number}) }} }}",
                self.choice.one(&["yes", "no", "yes"])
            ),
            _ => number.to_string(),
        }
    }

    fn promise(&mut self, depth: usize) -> String {
        self.left = self.left.saturating_sub(1);
        let number = self.number();
        if depth == 0 || self.left == 0 {
            return match self.choice.below(5) {
                0 => format!("Promise.reject({number})"),
                1 => format!("sleep({})", self.delay()),
                2 if self.calls => format!("f({number})"),
                3 if self.calls => format!("g({number})"),
                _ => format!("Promise.resolve({number})"),
            };
        }
        let deeper = depth - 1;
        match self.choice.below(12) {
            0 => format!("Promise.resolve({})", self.value(deeper)),
            1 => {
                let which = self.choice.one(&["resolve", "resolve", "reject"]);
                format!(
                    "new Promise((resolve, reject) => {{ {}{which}({}); resolve({number}) }})",
                    self.log(),
                    self.value(deeper)
                )
            }
            2 => format!(
                "{}.then(v => {{ log({number}, v); return {} }})",
                self.promise(deeper),
                self.value(deeper)
            ),
            3 => format!(
                "{}.then(v => {{ throw {number} }}, e => ({}))",
                self.promise(deeper),
                self.value(deeper)
            ),
            4 => format!(
                "{}.finally(() => {{ log({number}); return {} }})",
                self.promise(deeper),
                self.value(deeper)
            ),
            5 | 6 => {
                let all = self.choice.one(&["all", "allSettled", "race", "any"]);
                let (one, two, three) =
                    (self.promise(deeper), self.value(deeper), self.promise(deeper));
                let shown = if all == "any" { ".catch(e => { throw e.errors ?? e })" } else { "" };
                format!("Promise.{all}([{one}, {two}, {three}]){shown}")
            }
            7 => {
                format!("(async () => {{ {}return {} }})()", self.block(deeper), self.value(deeper))
            }
            8 => format!(
                "(async x => {{ await sleep({}); log({number}, x); return {} }})({number})",
                self.delay(),
                self.value(deeper)
            ),
            9 => format!(
                "{}.catch(e => {{ log({number}, e); return {} }})",
                self.promise(deeper),
                self.value(deeper)
            ),
            10 => format!(
                "(async () => {{ log({number}); {} throw {number} }})()",
                self.statement(deeper)
            ),
            _ if self.calls => format!("f({})", self.value(deeper)),
            _ => format!("Promise.resolve({})", self.value(deeper)),
        }
    }
}
