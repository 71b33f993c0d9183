//! The text format of Prometheus (version 0.0.4), as the textfile collector of its node_exporter
//! reads it.

use sealstone_message::printable;

/// Type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A value that goes up and down.
    Gauge,
    /// A value that only grows until its program starts again; its name ends in `_total`.
    Counter,
}

/// A value, and the labels that tell it from the others of its metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Names and values of the labels.
    pub labels: Vec<(&'static str, String)>,
    /// The value.
    pub value: f64,
}

/// A metric with its samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// The name, which begins with `sealstone_`.
    pub name: String,
    /// The meaning, one sentence.
    pub help: &'static str,
    /// The type.
    pub kind: Kind,
    /// The samples; two with the same labels are one with their sum.
    pub samples: Vec<Sample>,
}

/// Returns `metrics` as text; those without samples are left out.
#[must_use]
pub fn text(metrics: &[Metric]) -> String {
    let mut text = String::new();
    for Metric { name, help, kind, samples } in metrics.iter().filter(|one| !one.samples.is_empty())
    {
        let kind = match kind {
            Kind::Gauge => "gauge",
            Kind::Counter => "counter",
        };
        text.push_str(&format!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
        for (labels, value) in summed(samples) {
            text.push_str(&format!("{name}{labels} {value}\n"));
        }
    }
    text
}

/// Returns the labels of each sample as the format has them, each once, with the sum of its values.
fn summed(samples: &[Sample]) -> Vec<(String, f64)> {
    let mut sums: Vec<(String, f64)> = Vec::new();
    for Sample { labels, value } in samples {
        let labels = written(labels);
        match sums.iter_mut().find(|(known, _)| *known == labels) {
            Some((_, sum)) => *sum += value,
            None => sums.push((labels, *value)),
        }
    }
    sums
}

fn written(labels: &[(&'static str, String)]) -> String {
    if labels.is_empty() {
        return String::new();
    }
    let labels: Vec<String> =
        labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
    format!("{{{}}}", labels.join(","))
}

/// Returns a label's value as the format has it. A control character is written by its number: a
/// terminal must not obey it, and no program needs it.
fn escaped(value: &str) -> String {
    printable(value).replace('\\', "\\\\").replace('"', "\\\"")
}
