//! An instant as text by a pattern of the common letters.

use jiff::tz::Offset;

use super::{
    Alphabet, CalendarNames, DateFields, DatePattern, DatePatternError, DatePatternProblem,
    MissingDateField,
};
use crate::time::error::Problem;
use crate::time::{TimeError, Timestamp, Zone};

const HINT: &str = "use yyyy, MM, MMM, dd, EEE, HH, hh, mm, ss, SSS, a and XXX; put other letters \
                    between single quotes";

impl Zone {
    /// Formats an instant by a pattern of the [`Alphabet::Common`] letters, with English names.
    pub fn format(&self, at: Timestamp, pattern: &str) -> Result<String, TimeError> {
        let civil = self.civil(at).ok_or(TimeError::OutOfRange { what: "the local time" })?;
        let offset = Offset::from_seconds(self.offset_at(at)).ok();
        let (date, time) = (Some(civil.date()), Some(civil.time()));
        let fields = DateFields { date, time, offset, zone_name: None };
        let pattern = DatePattern::parse(pattern, Alphabet::Common).map_err(refused)?;
        pattern.write(&fields, &CalendarNames::ENGLISH).map_err(|missing| unknown(&missing))
    }
}

fn refused(error: DatePatternError) -> TimeError {
    let reason = match error.problem {
        DatePatternProblem::OpenQuote => "a quote is not closed",
        DatePatternProblem::UnknownLetter(letter) => {
            return unknown(&MissingDateField { letter, offset: error.offset });
        }
        DatePatternProblem::Reserved(_) | DatePatternProblem::OpenBracket => {
            "this sign has a meaning of its own"
        }
    };
    TimeError::InvalidPattern(Problem::new(error.offset, reason, HINT))
}

fn unknown(missing: &MissingDateField) -> TimeError {
    let reason = format!("no meaning for these letters, beginning with `{}`", missing.letter);
    TimeError::InvalidPattern(Problem::new(missing.offset, reason, HINT))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(zone: &str, pattern: &str) -> Result<String, TimeError> {
        let at = Timestamp::parse("2026-03-01T22:05:09.007Z").unwrap();
        Zone::parse(zone).unwrap().format(at, pattern)
    }

    #[test]
    fn letters_have_their_usual_meaning() {
        assert_eq!(
            format("UTC", "yyyy-MM-dd'T'HH:mm:ss.SSSXXX").unwrap(),
            "2026-03-01T22:05:09.007Z"
        );
        assert_eq!(
            format("Asia/Tokyo", "EEE d MMM yyyy, h:mm a").unwrap(),
            "Mon 2 Mar 2026, 7:05 AM"
        );
        assert_eq!(format("Asia/Tokyo", "xxx EEEE MMMM D").unwrap(), "+09:00 Monday March 61");
        assert_eq!(format("America/St_Johns", "XXX").unwrap(), "-03:30");
        assert_eq!(format("UTC", "HH 'o''clock'").unwrap(), "22 o'clock");
        assert_eq!(format("UTC", "HH ''").unwrap(), "22 '");
        assert_eq!(format("UTC", "'a'''HH").unwrap(), "a'22");
        assert_eq!(format("UTC", "'a''").unwrap_err().offset(), Some(0));
        assert_eq!(format("UTC", "yy [HH] {m} #").unwrap(), "26 [22] {5} #");
    }

    #[test]
    fn other_letters_are_refused_with_their_place() {
        let error = format("UTC", "yyyy-MM-ddTHH").unwrap_err();
        assert_eq!((error.code(), error.offset()), ("invalid_pattern", Some(10)));
        assert_eq!(format("UTC", "'open").unwrap_err().offset(), Some(0));
        assert_eq!(format("UTC", "ä Q").unwrap_err().offset(), Some(3));
        for letters in ["yyy", "MMMMM", "SS", "HHH", "aa", "x", "p", "z"] {
            assert_eq!(format("UTC", letters).unwrap_err().offset(), Some(0), "{letters}");
        }
    }

    #[test]
    fn short_offsets_are_those_of_utc_only() {
        assert_eq!(format("UTC", "X XX").unwrap(), "Z Z");
        assert_eq!(format("Asia/Tokyo", "HH X").unwrap_err().offset(), Some(3));
    }
}
