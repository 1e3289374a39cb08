//! What must be known of a query to merge its results.

use super::wanted::{Order, Query, Wanted};
use gpu_kernels::column_values::ColumnParams;
use gpu_kernels::primitives::reduce::SumKind;

/// The type of numbers, by which they are added and compared.
type Numbers = (ColumnParams, SumKind);

/// How the results of two queries are merged. Only results with equal recipes are.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Recipe {
    pub order: Order,
    /// How each aggregate is merged.
    pub steps: Vec<Step>,
    /// What cannot be merged, and what to do instead.
    pub refused: Option<(&'static str, &'static str)>,
}

/// How an aggregate is merged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// Counts are added.
    Count,
    /// Sums are added.
    Sum(Numbers),
    Min(Numbers),
    Max(Numbers),
    First,
    Last,
    /// Means cannot be merged.
    Mean,
}

impl Recipe {
    pub(super) fn of(query: &Query<'_>) -> Self {
        let numbers = |column: usize| query.numbers(column).unwrap_or((ColumnParams::unsigned(), SumKind::Unsigned));
        let step = |wanted: &Wanted| match *wanted {
            Wanted::Count => Step::Count,
            Wanted::Sum(column) | Wanted::SumOfUpper(column) => Step::Sum(sums(numbers(column).1)),
            Wanted::Min(column) => Step::Min(numbers(column)),
            Wanted::Max(column) => Step::Max(numbers(column)),
            Wanted::First(_) => Step::First,
            Wanted::Last(_) => Step::Last,
            Wanted::Mean(_) => Step::Mean,
        };
        let steps: Vec<Step> = query.wanted.iter().map(step).collect();
        let refused = match query {
            _ if steps.contains(&Step::Mean) => {
                Some(("means", "request the sum and the count, and divide them after the last merge"))
            }
            _ if !query.derived.is_empty() => {
                Some(("counts of distinct values, variances or quantiles", "request them of all rows at once"))
            }
            _ if query.picks_filtered() => {
                Some(("first or last values of filtered rows", "leave rows out by `only_rows`"))
            }
            _ if query.top.is_some() => Some(("groups left out by `top`", "keep all groups until the last merge")),
            _ => None,
        };
        Self { order: query.order, steps, refused }
    }
}

/// Returns how sums are added.
fn sums(kind: SumKind) -> Numbers {
    let params = match kind {
        SumKind::Unsigned => ColumnParams::unsigned(),
        SumKind::Signed => ColumnParams::signed(64),
        SumKind::Float => ColumnParams::float(64),
    };
    (params, kind)
}
