//! Names of months, weekdays and halves of the day.

/// English names of the months, from January.
pub const MONTH_NAMES: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// English names of the weekdays, from Monday.
pub const WEEKDAY_NAMES: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// The names that one language uses in dates.
#[derive(Debug, Clone)]
pub struct CalendarNames {
    /// The months, from January.
    pub months: [&'static str; 12],
    /// The months, abbreviated.
    pub short_months: [&'static str; 12],
    /// The weekdays, from Monday.
    pub days: [&'static str; 7],
    /// The weekdays, abbreviated.
    pub short_days: [&'static str; 7],
    /// Before and after noon.
    pub halves: [&'static str; 2],
}

impl CalendarNames {
    /// The English names.
    pub const ENGLISH: Self = Self {
        months: MONTH_NAMES,
        short_months: [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ],
        days: WEEKDAY_NAMES,
        short_days: ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"],
        halves: ["AM", "PM"],
    };
}
