//! The whole distribution of latency as a percentile curve, one panel an operation. Equal distances to the right mean
//! ten times rarer, as in the plots of HdrHistogram.

use super::axis::Axis;
use super::canvas::{Anchor, Ink, apart, draw, shorten, text_px};
use super::charts::{Chart, NARROW_PX, titled};
use super::error::ReportError;
use super::index::Run;
use crate::results::{Cell, Latency, Variant};

const HEIGHT_PX: f64 = 236.0;

/// Upper and lower edge of the curves.
const TOP_PX: f64 = 8.0;
const BOTTOM_PX: f64 = 196.0;

/// Columns of a label before it is cut.
const LABEL_COLUMNS: usize = 17;

/// A curve for each variant, for every operation whose distribution was kept.
pub(super) fn curves(run: &Run) -> Result<Vec<Chart>, ReportError> {
    let mut charts = Vec::new();
    for workload in &run.workloads {
        let cells = run.cells(workload);
        for operation in run.operations(workload) {
            let timed: Vec<(&Variant, &Cell, &Latency)> = cells
                .iter()
                .filter_map(|(variant, cell)| Some((*variant, *cell, cell.latency.get(operation)?)))
                .filter(|(_, _, latency)| latency.count > 0 && latency.distribution.len() > 1)
                .collect();
            if !timed.is_empty() {
                let title = format!("{}, {operation}", titled(workload));
                let svg = panel(run, &title, &timed)?;
                charts.push(Chart { title, note: String::new(), svg, narrow: None });
            }
        }
    }
    Ok(charts)
}

/// How many times nine: 0.9 is 1, 0.99 is 2. None for the largest value, which has no end on this scale.
fn nines(share: f64) -> Option<f64> {
    (share < 1.0).then(|| -(1.0 - share.max(0.0)).log10())
}

fn panel(run: &Run, title: &str, timed: &[(&Variant, &Cell, &Latency)]) -> Result<String, ReportError> {
    let points = |latency: &Latency| -> Vec<(f64, f64)> {
        latency.distribution.iter().filter_map(|(share, us)| Some((nines(*share)?, *us))).collect()
    };
    let all: Vec<(f64, f64)> = timed.iter().flat_map(|(_, _, latency)| points(latency)).collect();
    let most = all.iter().map(|point| point.0).fold(1.0, f64::max);
    let positive = || all.iter().map(|point| point.1).filter(|us| *us > 0.0);
    let times = Axis::micros(positive().fold(f64::MAX, f64::min), positive().fold(0.0, f64::max), 5);
    let widest = |texts: &mut dyn Iterator<Item = String>| texts.map(|text| text_px(&text)).fold(0.0, f64::max);
    let left = widest(&mut times.ticks.iter().map(|(_, text)| text.clone())) + 6.0;
    let label = |variant: &Variant| shorten(&variant.label, LABEL_COLUMNS);
    let right = NARROW_PX - widest(&mut timed.iter().map(|(variant, ..)| label(variant))) - 12.0;
    let x = |nines: f64| left + nines / most * (right - left);
    let y = |us: f64| BOTTOM_PX - times.position(us) * (BOTTOM_PX - TOP_PX);
    let curves: Vec<Vec<(f64, f64)>> = timed
        .iter()
        .map(|(_, _, latency)| points(latency).into_iter().map(|(nines, us)| (x(nines), y(us))).collect())
        .collect();
    let ends: Vec<(f64, f64)> = curves.iter().map(|curve| curve.last().copied().unwrap_or((left, BOTTOM_PX))).collect();
    let heights = apart(&ends.iter().map(|end| end.1).collect::<Vec<_>>(), (TOP_PX, HEIGHT_PX));
    let description = format!(
        "Latency by percentile, {title}: curves of {}; the table of latencies has the figures",
        timed.iter().map(|(variant, ..)| variant.label.as_str()).collect::<Vec<_>>().join(", ")
    );
    draw(NARROW_PX, HEIGHT_PX, &description, |canvas| {
        for (us, text) in &times.ticks {
            canvas.line(&[(left, y(*us)), (right, y(*us))], Ink::Grid, 1.0)?;
            canvas.text(text, (left - 6.0, y(*us)), Anchor::Right, Ink::Muted)?;
        }
        // only every second one is named if there is no room for all
        let stride = if x(1.0) - x(0.0) >= text_px("99.999 %") { 1 } else { 2 };
        for (nines, text) in ["0", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %"].into_iter().enumerate() {
            let x = x(nines as f64);
            if nines as f64 <= most + 1e-9 {
                canvas.line(&[(x, TOP_PX), (x, BOTTOM_PX)], Ink::Grid, 1.0)?;
                if nines % stride == 0 {
                    canvas.text(text, (x, BOTTOM_PX + 12.0), Anchor::Middle, Ink::Muted)?;
                }
            }
        }
        let middle = (left + right) / 2.0;
        canvas.text("share of operations as fast", (middle, BOTTOM_PX + 28.0), Anchor::Middle, Ink::Muted)?;
        for (number, (variant, cell, _)) in timed.iter().enumerate() {
            let ink = run.ink(cell.variant);
            canvas.line(&curves[number], ink, 1.75)?;
            // the label may be higher or lower than the end of the curve: a line leads to it
            let beside = (right + 8.0, heights[number]);
            canvas.line(&[ends[number], (ends[number].0.max(right), ends[number].1), beside], ink, 0.75)?;
            canvas.text(&label(variant), (right + 10.0, heights[number]), Anchor::Left, Ink::Text)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nines_count_nines() {
        assert_eq!(nines(0.0), Some(0.0));
        assert!((nines(0.999).unwrap() - 3.0).abs() < 1e-9);
        assert_eq!(nines(1.0), None);
    }
}
