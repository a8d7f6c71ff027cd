//! Renders figures as text.

use comfy_table::{CellAlignment, Table, presets};

use super::report::{BenchReport, Figure};

/// The whole report as text.
pub(super) fn render(report: &BenchReport) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["scenario", "what", "figure", "", "ratio", "target", ""]);
    for figure in &report.figures {
        let ratio = figure.ratio.as_ref().map(|it| format!("{:.2} {}", it.value, it.of));
        let target = figure.target.map(|it| format!("{} {}", it.bound, number(it.value)));
        let verdict = figure.target.map(|it| if it.met { "ok" } else { "miss" });
        table.add_row([
            figure.scenario.to_owned(),
            figure.name.clone(),
            number(figure.value),
            figure.unit.to_owned(),
            ratio.unwrap_or_default(),
            target.unwrap_or_default(),
            verdict.unwrap_or_default().to_owned(),
        ]);
    }
    for column in [2, 4, 5] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let heading = report.heading().join("\n");
    format!("{heading}\n\n{}\n\n{}", table.trim_fmt(), verdict(report))
}

fn verdict(report: &BenchReport) -> String {
    let held = |figure: &&Figure| figure.target.is_some();
    let targets = report.figures.iter().filter(held).count();
    match report.missed() {
        0 => format!("{targets} targets, all met"),
        missed => format!("{targets} targets, {missed} missed"),
    }
}

/// A number with at most two decimals; fewer for larger values.
fn number(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => thousands(value),
        medium if medium >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// A whole number in groups of three digits.
fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 { format!("-{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let texts = [1_234_567.4, 999.6, 12.34, 1.234, 0.0].map(number);
        assert_eq!(texts, ["1,234,567", "1,000", "12.3", "1.23", "0.00"]);
        assert_eq!(number(f64::NAN), "NaN");
    }
}
