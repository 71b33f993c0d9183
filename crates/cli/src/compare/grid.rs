//! The points of a comparison in order: the available points, the measurements of each, and the
//! missing parts. After each point the results so far are written.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use jiff::Timestamp;
use sealstone_bench::compare::groups;
use sealstone_bench::compare::{self, CompareError};
use sealstone_bench::report::{self, Options};
use sealstone_bench::results::files::write_text;
use sealstone_bench::results::{Comparison, Missing, Results};
use sealstone_bench::study::Refused;
use sealstone_bench::study::StudyPoint;
use sealstone_bench::study::plan::{Plan, PlanError};
use sealstone_bench::words::Client;
use sealstone_bench::words::{AXES, Point, varied};
use sealstone_message::Language;
use sealstone_store::StoreError;

use crate::message::say;
use crate::progress::Display;
use crate::stores;

/// Outcome of a point.
enum Outcome {
    /// Not measured yet.
    Open,
    /// Measured, or as much of it as was possible.
    Measured(Box<Results>),
    /// It cannot be had, for this reason.
    LeftOut(String),
}

/// One point, and what becomes of it.
struct Place {
    point: StudyPoint,
    /// Measurements of earlier rounds, to which more are added.
    earlier: Option<Box<Results>>,
    outcome: Outcome,
}

/// All points of a comparison.
pub(crate) struct Grid<'a> {
    whole: &'a Plan,
    label: Option<&'a str>,
    places: Vec<Place>,
    /// Reason why the first unavailable point is unavailable.
    refusal: Option<anyhow::Error>,
    /// Client that measures, out of several.
    client: Option<&'a Client>,
    /// Language of the report.
    language: Language,
}

impl<'a> Grid<'a> {
    /// Returns the `points` of a study whose settings are `plan`. The `refused` ones are left out,
    /// with a word, as long as there are others.
    ///
    /// # Errors
    /// The reason why the first point is unavailable, if none is available.
    pub(crate) fn planned(
        plan: &'a Plan,
        points: Vec<StudyPoint>,
        refused: Vec<Refused>,
        label: Option<&'a str>,
        language: Language,
    ) -> anyhow::Result<Self> {
        let place = |point| Place { point, earlier: None, outcome: Outcome::Open };
        let places: Vec<Place> = points.into_iter().map(place).collect();
        let is_any_possible = !places.is_empty();
        let mut grid = Self { whole: plan, label, places, refusal: None, client: None, language };
        for Refused { at, point, reason } in refused {
            grid.places.insert(at, place(point));
            grid.leave_out(at, reason.into());
        }
        if !is_any_possible && let Some(error) = grid.refusal.take() {
            return Err(error);
        }
        for place in &grid.places {
            if let Outcome::LeftOut(reason) = &place.outcome {
                say(&format!(
                    "left out {}: {reason}",
                    place.point.plan.point().words(&AXES.each_ref())
                ));
            }
        }
        Ok(grid)
    }

    /// Makes this the measurement of `client`, one of several.
    ///
    /// # Errors
    /// A start that has passed.
    pub(crate) fn beside(&mut self, client: &'a Client) -> anyhow::Result<()> {
        if client.start <= Timestamp::now() {
            anyhow::bail!(
                "start-at is {}: that has passed\nchoose a time after all clients have started",
                client.start
            );
        }
        self.client = Some(client);
        Ok(())
    }

    /// Takes over every point that `earlier` has measured whole.
    pub(crate) fn keep(&mut self, earlier: &Comparison) {
        let whole = |run: &Results| !run.interrupted && run.failure.is_none();
        for results in earlier.runs().into_iter().filter(whole) {
            let is_same = |place: &&mut Place| {
                place.point.plan.point() == results.plan.point()
                    && place.point.plan.workloads == results.plan.workloads
            };
            if let Some(place) = self.places.iter_mut().find(is_same) {
                place.outcome = Outcome::Measured(Box::new(results));
            }
        }
        let kept = self
            .places
            .iter()
            .filter(|place| matches!(place.outcome, Outcome::Measured(_)))
            .count();
        say(&format!(
            "kept {kept} of {} points, which were measured whole before",
            self.places.len()
        ));
    }

    /// Adds rounds to every point of which `earlier` has some; a point that an error ended is
    /// measured again.
    pub(crate) fn add_to(&mut self, earlier: &Comparison) {
        for results in earlier.runs().into_iter().filter(|run| run.failure.is_none()) {
            let is_same = |place: &&mut Place| {
                place.point.plan.point() == results.plan.point()
                    && place.point.plan.workloads == results.plan.workloads
            };
            if let Some(place) = self.places.iter_mut().find(is_same) {
                place.earlier = Some(Box::new(results));
            }
        }
    }

    /// Returns the points that are still to be measured.
    pub(crate) fn open(&self) -> impl Iterator<Item = &StudyPoint> {
        let is_open = |place: &&Place| matches!(place.outcome, Outcome::Open);
        self.places.iter().filter(is_open).map(|place| &place.point)
    }

    /// Returns the points that cannot be had, each with the reason.
    pub(crate) fn left_out(&self) -> impl Iterator<Item = (&StudyPoint, &str)> {
        self.places.iter().filter_map(|place| match &place.outcome {
            Outcome::LeftOut(reason) => Some((&place.point, reason.as_str())),
            Outcome::Open | Outcome::Measured(_) => None,
        })
    }

    /// Measures one point after the other, up to a point that was interrupted, or that failed, with
    /// its error: earlier measurements are an answer, too.
    ///
    /// # Errors
    /// A key that is not available, or what went wrong before anything was measured.
    pub(crate) fn measure(
        &mut self,
        display: &Display,
        stop: &AtomicBool,
    ) -> anyhow::Result<Option<anyhow::Error>> {
        let key = stores::user_key(self.whole)?;
        let points: Vec<Point> = self.places.iter().map(|place| place.point.plan.point()).collect();
        let axes = varied(&points);
        let mut failed = None;
        let open =
            self.places.iter().filter(|place| matches!(place.outcome, Outcome::Open)).count();
        let mut done = 0;
        for at in 0..self.places.len() {
            let Place { point, earlier, outcome: Outcome::Open } = &self.places[at] else {
                continue;
            };
            display.next_point(done, open, &points[at].words(&axes));
            done += 1;
            let client = self.client;
            let joins = client.is_some_and(|client| client.share.number > 1);
            let outcome =
                stores::engine(point, key.as_ref(), joins).and_then(|engine| match earlier {
                    Some(earlier) => compare::run_on(point, earlier, &*engine, display, stop)
                        .map_err(anyhow::Error::new),
                    None => compare::run_as(point, client, &*engine, display, stop)
                        .map_err(anyhow::Error::new),
                });
            let error = match outcome {
                Ok(results) => {
                    let is_over = results.interrupted;
                    self.places[at].outcome = Outcome::Measured(Box::new(results));
                    if is_over {
                        break;
                    }
                    self.write_so_far();
                    continue;
                }
                Err(error) => error,
            };
            if points.len() > 1 && cannot_be_had(&error) {
                let stays = match self.places[at].earlier {
                    Some(_) => "; its earlier rounds stay",
                    None => "",
                };
                say(&format!("left out {}: {error}{stays}", points[at].words(&axes)));
                self.leave_out(at, error);
                continue;
            }
            match error.downcast::<CompareError>() {
                Ok(CompareError::Stopped) => break,
                Ok(CompareError::Unfinished { measured, source }) => {
                    // a point that was whole before stays so
                    if self.places[at].earlier.is_none() {
                        self.places[at].outcome = Outcome::Measured(measured);
                    }
                    failed = Some((at, anyhow::Error::new(*source)));
                }
                Ok(error) => failed = Some((at, error.into())),
                Err(error) => failed = Some((at, error)),
            }
            break;
        }
        let has_some = |place: &Place| {
            matches!(place.outcome, Outcome::Measured(_)) || place.earlier.is_some()
        };
        if !self.places.iter().any(has_some) {
            let failed = failed.map(|(_, error)| error).or(self.refusal.take());
            return Err(failed.unwrap_or_else(|| CompareError::Stopped.into()));
        }
        Ok(failed.map(|(at, error)| match points.len() {
            1 => error,
            _ => error.context(format!("cannot compare {}", points[at].words(&axes))),
        }))
    }

    fn leave_out(&mut self, at: usize, error: anyhow::Error) {
        let reason = error.to_string().lines().next().unwrap_or_default().to_owned();
        self.places[at].outcome = Outcome::LeftOut(reason);
        self.refusal.get_or_insert(error);
    }

    /// Returns the measurements, with the missing parts; `open` is the reason why points that are
    /// available are missing.
    pub(crate) fn comparison(&self, open: &str) -> Option<Comparison> {
        let (mut runs, mut missing) = (Vec::new(), Vec::new());
        for Place { point: StudyPoint { plan, .. }, earlier, outcome } in &self.places {
            let lacks = |reason: &str, left_out| Missing {
                point: plan.point(),
                workloads: plan.workloads.clone(),
                reason: reason.into(),
                left_out,
            };
            match (outcome, earlier) {
                (Outcome::Measured(results), _) => runs.push(Results::clone(results)),
                // the rounds to be added are missing, but the earlier rounds are not
                (Outcome::Open | Outcome::LeftOut(_), Some(earlier)) => {
                    runs.push(Results::clone(earlier));
                }
                (Outcome::Open, None) => missing.push(lacks(open, false)),
                (Outcome::LeftOut(reason), None) => missing.push(lacks(reason, true)),
            }
        }
        if runs.is_empty() {
            return None;
        }
        let mut comparison = groups::comparison(self.whole, runs).with_missing(missing);
        if let Some(label) = self.label {
            comparison.machine.label = label.into();
        }
        Some(comparison)
    }

    /// Writes the measurements so far, if more will come: a kill loses only the point that it hits.
    fn write_so_far(&self) {
        if !self.places.iter().any(|place| matches!(place.outcome, Outcome::Open)) {
            return;
        }
        let written = self
            .comparison("not measured yet")
            .map(|comparison| write(&comparison, &self.whole.out, self.language));
        if let Some(Err(error)) = written {
            // the last one, at the end, is what counts
            say(&format!("{error:#}; going on"));
        }
    }
}

/// Returns whether a point of the grid is unavailable here, although others may be available: its
/// stores do not fit, or lack an ability.
fn cannot_be_had(error: &anyhow::Error) -> bool {
    let does_not_fit =
        |error: &PlanError| matches!(error, PlanError::Space { .. } | PlanError::Memory { .. });
    match error.downcast_ref() {
        Some(CompareError::Plan(error)) => does_not_fit(error),
        Some(CompareError::Store { source: StoreError::Lacks { .. }, .. }) => true,
        _ => error.downcast_ref().is_some_and(does_not_fit),
    }
}

/// Writes data and report into `out`; returns the report's path. Each file is replaced whole.
///
/// # Errors
/// A file that cannot be written.
pub(crate) fn write(
    comparison: &Comparison,
    out: &Path,
    language: Language,
) -> anyhow::Result<PathBuf> {
    comparison.write_json(&out.join("results.json"))?;
    comparison.write_csv(&out.join("results.csv"))?;
    let runs = comparison.runs();
    let options = Options {
        raw_data: (runs.len() > 1).then(|| vec!["results.json".into(); runs.len()]),
        against: comparison.against.clone(),
        missing: groups::missing_words(comparison),
        language,
        ..Options::default()
    };
    let path = out.join("report.html");
    write_text(&path, &report::html_with(&runs, &options)?)?;
    Ok(path)
}
