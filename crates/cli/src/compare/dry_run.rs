//! `--dry-run`: the points that a comparison would measure, and about how long that takes. Starts
//! nothing. Not here: the guess (`sealstone_bench::compare::duration`).

use sealstone_bench::compare::duration::{Forecast, forecast};
use sealstone_bench::conclude::figures;
use sealstone_bench::study::NamedStudy;
use sealstone_bench::study::StudyPoint;
use sealstone_bench::words::counted;
use serde_json::{Value, json};

use crate::compare::grid::Grid;
use crate::flags::CompareFlags;
use crate::message::{print, print_json};

/// Schema of the JSON.
const SCHEMA: u32 = 1;

/// Prints the points of `grid` that are still to be measured.
///
/// # Errors
/// A stdout that cannot be written.
pub(super) fn show(flags: &CompareFlags, grid: &Grid) -> anyhow::Result<()> {
    let points: Vec<&StudyPoint> = grid.open().collect();
    let study = flags.study.as_deref().map(NamedStudy::by_name).transpose()?;
    let forecasts: Vec<Forecast> = points.iter().map(|point| forecast(point)).collect();
    let all_s: f64 = forecasts.iter().map(|one| one.seconds).sum();
    if flags.json {
        let each = points.iter().zip(&forecasts).map(|(point, found)| as_json(point, *found));
        let left_out: Vec<Value> = grid
            .left_out()
            .map(|(point, reason)| json!({"point": point.plan.point(), "reason": reason}))
            .collect();
        return print_json(&json!({
            "schema": SCHEMA,
            "study": study.map(|study| study.name),
            "points": each.collect::<Vec<_>>(),
            "left_out": left_out,
            "about_s": all_s.round(),
        }));
    }
    let mut text = String::new();
    if let Some(study) = study {
        text.push_str(&format!(
            "study {}: {}\nsource: {}\n\n",
            study.name, study.about, study.source
        ));
    }
    let at_most = forecasts.iter().any(|one| one.can_end_before);
    text.push_str(&format!(
        "{} to measure, {} in all; nothing was started\n",
        counted(points.len(), "point"),
        words(Forecast { seconds: all_s, can_end_before: at_most })
    ));
    for (number, (point, found)) in points.iter().zip(&forecasts).enumerate() {
        text.push_str(&as_text(number + 1, point, *found));
    }
    print(&text)
}

fn words(forecast: Forecast) -> String {
    let word = if forecast.can_end_before { "at most" } else { "about" };
    format!("{word} {}", figures::seconds(forecast.seconds))
}

fn labels(point: &StudyPoint) -> Vec<&str> {
    point.variants.iter().map(|variant| variant.label.as_str()).collect()
}

fn as_text(number: usize, point: &StudyPoint, forecast: Forecast) -> String {
    let plan = &point.plan;
    let rounds = match plan.time_s() {
        Some(_) => "as many rounds as fit".into(),
        None => counted(plan.rounds, "round"),
    };
    format!(
        "{number}. {}: {}\n   {}\n   under {}; {rounds}, {} of slices a round\n",
        plan.point().in_full(),
        words(forecast),
        labels(point).join(", "),
        plan.workloads.join(", "),
        counted(plan.pairs, "pair"),
    )
}

fn as_json(point: &StudyPoint, forecast: Forecast) -> Value {
    json!({
        "point": point.plan.point(),
        "variants": labels(point),
        "workloads": point.plan.workloads,
        "rounds": point.plan.rounds,
        "about_s": forecast.seconds.round(),
        "can_end_before": forecast.can_end_before,
    })
}
