//! Searches of instances on behalf of a request: cursors, and limits of rows and time.

use std::time::Duration;

use meantime_core::{
    DefinitionId, InstanceId, SCHEDULE_DEFINITION, TimerId, Timestamp, pause_point,
};
use meantime_kernel::store::{
    InstanceFilter, InstancePosition, InstanceRow, InstanceSearch, InstanceSort,
};

use crate::app::App;
use crate::pagination;
use crate::problem::{Problem, ProblemCode};
use crate::wire::{Direction, InstanceOrder};

/// The largest number of instances that one request examines. A page may then be short although
/// another one follows.
pub(super) const MAX_EXAMINED: usize = 20_000;

/// The longest time that one request searches.
const MAX_TIME: Duration = Duration::from_secs(1);

/// The largest number of instances that are examined in one transaction.
const MAX_PART: usize = 1_000;

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) sort: InstanceOrder,
    pub(super) direction: Direction,
}

impl Order {
    const fn sort(self) -> InstanceSort {
        match self.sort {
            InstanceOrder::Start => InstanceSort::Start,
            InstanceOrder::End => InstanceSort::End,
            InstanceOrder::Key => InstanceSort::Key,
            InstanceOrder::Due => InstanceSort::Due,
        }
    }
}

/// What a request may still examine.
pub(super) struct SearchBudget {
    rows: usize,
    until: Timestamp,
}

impl SearchBudget {
    pub(super) fn new(app: &App) -> Self {
        let time = i64::try_from(MAX_TIME.as_millis()).unwrap_or(i64::MAX);
        let until = app.kernel().now().real.saturating_add_millis(time);
        Self { rows: MAX_EXAMINED, until }
    }

    /// Another list of the same request may examine as many rows, in the time that is left.
    pub(super) const fn restart_rows(&mut self) {
        self.rows = MAX_EXAMINED;
    }

    fn is_spent(&self, app: &App) -> bool {
        self.rows == 0 || app.kernel().now().real > self.until
    }
}

/// A search that is read part by part.
pub(super) struct Walk<'a> {
    app: &'a App,
    search: InstanceSearch,
    is_over: bool,
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        app: &'a App,
        filter: InstanceFilter,
        order: Order,
        after: Option<InstancePosition>,
    ) -> Self {
        let descending = order.direction == Direction::Desc;
        let sort = order.sort();
        let search = InstanceSearch { filter, sort, descending, after, limit: 0, examine: 0 };
        Self { app, search, is_over: false }
    }

    /// The matches among the next candidates; none at the end of the list, or when nothing is left
    /// of the budget.
    pub(super) async fn next_part(
        &mut self,
        limit: usize,
        budget: &mut SearchBudget,
    ) -> Result<Option<Vec<(InstancePosition, InstanceRow)>>, Problem> {
        // The first part is read in any case, so that every page gets on.
        let is_first = self.search.examine == 0;
        if self.is_over || (!is_first && budget.is_spent(self.app)) {
            return Ok(None);
        }
        pause_point::here();
        self.search.limit = limit;
        // As many as may be enough at first; then more, because few of them match.
        let examine = if is_first { limit } else { self.search.examine.saturating_mul(4) };
        self.search.examine = examine.clamp(1, MAX_PART);
        let matches = self.app.store().search(self.search.clone()).await?;
        budget.rows = budget.rows.saturating_sub(matches.examined.max(1));
        self.is_over = matches.next.is_none();
        self.search.after = matches.next;
        Ok(Some(matches.found))
    }

    /// Where the search would go on; none at the end of the list.
    pub(super) const fn rest(&self) -> Option<&InstancePosition> {
        if self.is_over { None } else { self.search.after.as_ref() }
    }
}

/// The cursor of a position.
pub(super) fn cursor(position: &InstancePosition) -> String {
    match position {
        InstancePosition::Start(id) => id.to_string(),
        InstancePosition::End(at, id) => format!("{}.{id}", at.as_millis()),
        InstancePosition::Key(key, id) => format!("{id}.{key}"),
        InstancePosition::Due(at, key) => format!("{}.{}", at.as_millis(), TimerId(*key)),
    }
}

/// Reads the cursor of a list in an order.
pub(super) fn read_cursor(
    text: Option<&str>,
    order: Order,
) -> Result<Option<InstancePosition>, Problem> {
    let instant = |text: &str| Timestamp::try_from_millis(text.parse().ok()?).ok();
    let id = |text: &str| text.parse::<InstanceId>().ok();
    let timer = |text: &str| text.parse::<TimerId>().ok();
    pagination::read_cursor(text, |text| match order.sort {
        InstanceOrder::Start => id(text).map(InstancePosition::Start),
        InstanceOrder::End => {
            let (at, of) = text.split_once('.')?;
            Some(InstancePosition::End(instant(at)?, id(of)?))
        }
        InstanceOrder::Key => {
            let (of, key) = text.split_once('.')?;
            Some(InstancePosition::Key(key.to_owned(), id(of)?))
        }
        InstanceOrder::Due => {
            let (at, of) = text.split_once('.')?;
            Some(InstancePosition::Due(instant(at)?, timer(of)?.0))
        }
    })
}

/// Which definitions a query asks for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DefinitionQuery<'q> {
    pub(super) name: Option<&'q str>,
    pub(super) version: Option<u32>,
    pub(super) notation: Option<&'q str>,
}

impl DefinitionQuery<'_> {
    /// A filter for them, without schedules, which are instances, too; `/schedules` lists these.
    /// None if there are no such definitions.
    pub(super) async fn filter(self, app: &App) -> Result<Option<InstanceFilter>, Problem> {
        if self.version.is_some() && self.name.is_none() {
            let text = "`version` needs `definition`, as in `?definition=order&version=3`";
            return Err(Problem::new(ProblemCode::InvalidQuery, text));
        }
        let is_named = self.name.is_some() || self.notation.is_some();
        let definitions: Vec<DefinitionId> = if is_named {
            let name = self.name.map(str::to_owned);
            app.definitions().find_ids(name, self.version, self.notation).await?
        } else {
            Vec::new()
        };
        if is_named && definitions.is_empty() {
            return Ok(None);
        }
        let schedules = Some(SCHEDULE_DEFINITION.to_owned());
        let except = app.definitions().find_ids(schedules, None, None).await?;
        Ok(Some(InstanceFilter { definitions, except, ..InstanceFilter::default() }))
    }
}
