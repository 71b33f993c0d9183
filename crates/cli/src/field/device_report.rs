//! Report of the work of CPU and device, in the answer of a command with `--device`.

#![cfg_attr(not(feature = "gpu"), allow(dead_code, reason = "nothing but the CPU computes then"))]

use serde::Serialize;

/// Report of what ran where, if a device was requested.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Computed {
    /// Name of the device.
    pub(super) name: String,
    /// The columns in their own format.
    pub(super) columns: Vec<ComputedColumn>,
    /// Seconds that threads waited for it, all together.
    pub(super) waited_s: f64,
    /// Share of copying in the work of its lanes.
    pub(super) copying_share: f64,
    /// Seconds of threads that the CPU would have taken for these values, estimated from a sample;
    /// none without a sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cpu_s: Option<f64>,
}

/// Report of what ran where in one column. Values that were permuted more than once, since their
/// format demands it, are counted as often.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ComputedColumn {
    pub(super) name: String,
    pub(super) device_values: u64,
    pub(super) cpu_values: u64,
}

impl Computed {
    /// Returns the lines for the user, about a file of `rows` rows.
    pub(super) fn text(&self, rows: u64) -> String {
        let (mut text, device) = (String::new(), &self.name);
        for ComputedColumn { name, device_values, cpu_values } in &self.columns {
            let again = if device_values + cpu_values > rows {
                ", counted again where permuted again"
            } else {
                ""
            };
            text.push_str(&format!(
                "  {name}: {device_values} computed on {device}, {cpu_values} on the CPU{again}\n"
            ));
        }
        if self.columns.iter().all(|column| column.device_values == 0) {
            text.push_str(&format!(
                "  nothing ran on {device}: it takes ff1 values, many of one length at a time\n"
            ));
            return text;
        }
        let copying = self.copying_share * 100.0;
        text.push_str(&format!(
            "  threads waited {:.2} s for {device}, of whose work {copying:.0} % was copying",
            self.waited_s
        ));
        if let Some(cpu_s) = self.cpu_s {
            text.push_str(&format!(
                "; computing it themselves would have taken about {cpu_s:.2} s"
            ));
        }
        text.push('\n');
        if self.cpu_s.is_some_and(|cpu_s| cpu_s < self.waited_s) {
            text.push_str(&format!(
                "  {device} was slower than this CPU: without --device it is quicker\n"
            ));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn computed(device_values: u64, cpu_s: Option<f64>) -> String {
        let columns = vec![ComputedColumn { name: "phone".into(), device_values, cpu_values: 7 }];
        let (waited_s, copying_share) = (1.5, 0.42);
        Computed { name: "cuda:0".into(), columns, waited_s, copying_share, cpu_s }.text(100_007)
    }

    #[test]
    fn it_is_said_what_ran_where_and_whether_that_was_worth_it() {
        let ran = "  phone: 100000 computed on cuda:0, 7 on the CPU\n  threads waited 1.50 s for \
                   cuda:0, of whose work 42 % was copying";
        assert_eq!(computed(100_000, None), format!("{ran}\n"));
        let about = "; computing it themselves would have taken about";
        assert_eq!(computed(100_000, Some(3.0)), format!("{ran}{about} 3.00 s\n"));
        let slower = "  cuda:0 was slower than this CPU: without --device it is quicker\n";
        assert_eq!(computed(100_000, Some(0.25)), format!("{ran}{about} 0.25 s\n{slower}"));
        assert!(
            computed(100_001, None).contains("7 on the CPU, counted again where permuted again\n")
        );
        let none = "  phone: 0 computed on cuda:0, 7 on the CPU\n  nothing ran on cuda:0: it takes \
                    ff1 values, many of one length at a time\n";
        assert_eq!(computed(0, None), none);
    }
}
