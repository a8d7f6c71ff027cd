//! The error code pages of `docs/errors`, rendered on `/docs`.

/// Error codes and their Markdown pages, sorted by code.
pub(crate) const PAGES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/error_pages.rs"));

/// The page for codes that definitions and workers choose.
const FALLBACK_CODE: &str = "refused";

/// The link to the page of a code.
pub(crate) fn page_link(code: &str) -> String {
    page_link_or(code, FALLBACK_CODE)
}

/// The link to the page of a code, or of another one if the first has no page.
pub(crate) fn page_link_or(code: &str, fallback: &str) -> String {
    let is_known = PAGES.iter().any(|(known, _)| *known == code);
    format!("/docs#error-{}", if is_known { code } else { fallback })
}

/// Renders a page as HTML, without its title.
pub(crate) fn render_html(page: &str) -> String {
    let mut html: Vec<String> = Vec::new();
    let mut paragraph: Vec<&str> = Vec::new();
    let mut code: Option<Vec<&str>> = None;
    for line in page.lines().skip(1).chain([""]) {
        match (&mut code, line.starts_with("```")) {
            (Some(lines), true) => {
                html.push(format!("<pre>{}</pre>", escape(&lines.join("\n"))));
                code = None;
            }
            (Some(lines), false) => lines.push(line),
            (None, true) => code = Some(Vec::new()),
            (None, false) if !line.trim().is_empty() => paragraph.push(line),
            (None, false) => {}
        }
        let ends = line.trim().is_empty() || code.is_some();
        if ends && !paragraph.is_empty() {
            html.push(format!("<p>{}</p>", render_inline(&paragraph.join("\n"))));
            paragraph.clear();
        }
    }
    html.concat()
}

/// Renders `code` and **strong**. Links become their text, because their targets are not on this
/// server.
fn render_inline(text: &str) -> String {
    let text = strip_links(text);
    let mut html: Vec<String> = Vec::new();
    for (number, part) in text.split('`').enumerate() {
        if number % 2 == 1 {
            html.push(format!("<code>{}</code>", escape(part)));
            continue;
        }
        for (number, part) in part.split("**").enumerate() {
            let part = escape(part);
            html.push(if number % 2 == 1 { format!("<strong>{part}</strong>") } else { part });
        }
    }
    html.concat()
}

fn strip_links(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        let parts = link.split_once("](").and_then(|(name, target)| {
            let (_, after) = target.split_once(')')?;
            Some((name, after)).filter(|_| !name.contains('['))
        });
        plain.push_str(before);
        match parts {
            Some((name, after)) => {
                plain.push_str(name);
                rest = after;
            }
            None => {
                plain.push('[');
                rest = link;
            }
        }
    }
    plain + rest
}

/// Escapes text for HTML.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::ProblemCode;

    /// Every code with which a server rejects something has a page.
    #[test]
    fn every_code_has_a_page_that_speaks_to_users() {
        assert!(PAGES.len() > 200, "{} pages", PAGES.len());
        for reason in ProblemCode::ALL {
            let code = reason.code();
            assert_eq!(page_link(code), format!("/docs#error-{code}"));
        }
        assert_eq!(page_link("MY_OWN_CODE"), "/docs#error-refused");
        for (code, page) in PAGES {
            assert!(page.starts_with(&format!("# {code}\n")), "{code}");
            assert!(page.contains("**What to do.**"), "{code} does not say what to do");
            for word in ["crates/", "**Where.**", ".rs`"] {
                assert!(!page.contains(word), "{code} speaks to contributors: {word}");
            }
        }
    }

    #[test]
    fn a_page_becomes_html() {
        let page = "# x\n\nA `<tag>` of\n[`y`](y.md) & [z](../z.md#a) [1].\n\n**Why.** So.\n\n\
                    ```js\nlet a = 1 < 2\n```\n";
        let html = render_html(page);
        let expected = "<p>A <code>&lt;tag&gt;</code> of\n<code>y</code> &amp; z [1].</p>\
                        <p><strong>Why.</strong> So.</p><pre>let a = 1 &lt; 2</pre>";
        assert_eq!(html, expected);
    }
}
