//! Names and signs of a few languages.

use meantime_core::time::CalendarNames;

/// What a language writes differently.
#[derive(Debug)]
pub(crate) struct Locale {
    pub(super) decimal: char,
    pub(super) grouping: char,
    pub(super) names: CalendarNames,
}

impl Locale {
    /// By its tag, such as `en`, `es-MX` or `DE`; English if the tag is unknown.
    pub(crate) fn find(tag: &str) -> &'static Self {
        let language = tag.split('-').next().unwrap_or_default().to_ascii_lowercase();
        match language.as_str() {
            "es" => &SPANISH,
            "fr" => &FRENCH,
            "de" => &GERMAN,
            "pt" => &PORTUGUESE,
            "it" => &ITALIAN,
            "nl" => &DUTCH,
            _ => &ENGLISH,
        }
    }

    pub(crate) fn english() -> &'static Self {
        &ENGLISH
    }
}

static ENGLISH: Locale = Locale { decimal: '.', grouping: ',', names: CalendarNames::ENGLISH };

static SPANISH: Locale = Locale {
    decimal: ',',
    grouping: '.',
    names: CalendarNames {
        months: [
            "enero",
            "febrero",
            "marzo",
            "abril",
            "mayo",
            "junio",
            "julio",
            "agosto",
            "septiembre",
            "octubre",
            "noviembre",
            "diciembre",
        ],
        short_months: [
            "ene", "feb", "mar", "abr", "may", "jun", "jul", "ago", "sept", "oct", "nov", "dic",
        ],
        days: ["lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"],
        short_days: ["lun", "mar", "mié", "jue", "vie", "sáb", "dom"],
        halves: ["a.\u{a0}m.", "p.\u{a0}m."],
    },
};

static FRENCH: Locale = Locale {
    decimal: ',',
    grouping: '\u{202f}',
    names: CalendarNames {
        months: [
            "janvier",
            "février",
            "mars",
            "avril",
            "mai",
            "juin",
            "juillet",
            "août",
            "septembre",
            "octobre",
            "novembre",
            "décembre",
        ],
        short_months: [
            "janv.", "févr.", "mars", "avr.", "mai", "juin", "juil.", "août", "sept.", "oct.",
            "nov.", "déc.",
        ],
        days: ["lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"],
        short_days: ["lun.", "mar.", "mer.", "jeu.", "ven.", "sam.", "dim."],
        halves: ["AM", "PM"],
    },
};

static GERMAN: Locale = Locale {
    decimal: ',',
    grouping: '.',
    names: CalendarNames {
        months: [
            "Januar",
            "Februar",
            "März",
            "April",
            "Mai",
            "Juni",
            "Juli",
            "August",
            "September",
            "Oktober",
            "November",
            "Dezember",
        ],
        short_months: [
            "Jan.", "Feb.", "März", "Apr.", "Mai", "Juni", "Juli", "Aug.", "Sept.", "Okt.", "Nov.",
            "Dez.",
        ],
        days: ["Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"],
        short_days: ["Mo.", "Di.", "Mi.", "Do.", "Fr.", "Sa.", "So."],
        halves: ["AM", "PM"],
    },
};

static PORTUGUESE: Locale = Locale {
    decimal: ',',
    grouping: '.',
    names: CalendarNames {
        months: [
            "janeiro",
            "fevereiro",
            "março",
            "abril",
            "maio",
            "junho",
            "julho",
            "agosto",
            "setembro",
            "outubro",
            "novembro",
            "dezembro",
        ],
        short_months: [
            "jan.", "fev.", "mar.", "abr.", "mai.", "jun.", "jul.", "ago.", "set.", "out.", "nov.",
            "dez.",
        ],
        days: [
            "segunda-feira",
            "terça-feira",
            "quarta-feira",
            "quinta-feira",
            "sexta-feira",
            "sábado",
            "domingo",
        ],
        short_days: ["seg.", "ter.", "qua.", "qui.", "sex.", "sáb.", "dom."],
        halves: ["AM", "PM"],
    },
};

static ITALIAN: Locale = Locale {
    decimal: ',',
    grouping: '.',
    names: CalendarNames {
        months: [
            "gennaio",
            "febbraio",
            "marzo",
            "aprile",
            "maggio",
            "giugno",
            "luglio",
            "agosto",
            "settembre",
            "ottobre",
            "novembre",
            "dicembre",
        ],
        short_months: [
            "gen", "feb", "mar", "apr", "mag", "giu", "lug", "ago", "set", "ott", "nov", "dic",
        ],
        days: ["lunedì", "martedì", "mercoledì", "giovedì", "venerdì", "sabato", "domenica"],
        short_days: ["lun", "mar", "mer", "gio", "ven", "sab", "dom"],
        halves: ["AM", "PM"],
    },
};

static DUTCH: Locale = Locale {
    decimal: ',',
    grouping: '.',
    names: CalendarNames {
        months: [
            "januari",
            "februari",
            "maart",
            "april",
            "mei",
            "juni",
            "juli",
            "augustus",
            "september",
            "oktober",
            "november",
            "december",
        ],
        short_months: [
            "jan", "feb", "mrt", "apr", "mei", "jun", "jul", "aug", "sep", "okt", "nov", "dec",
        ],
        days: ["maandag", "dinsdag", "woensdag", "donderdag", "vrijdag", "zaterdag", "zondag"],
        short_days: ["ma", "di", "wo", "do", "vr", "za", "zo"],
        halves: ["a.m.", "p.m."],
    },
};
