//! What ran where, in the answer of a command with `--device`. Not here: what computes (`computing`).

#![cfg_attr(not(feature = "gpu"), allow(dead_code, reason = "nothing but the CPU computes then"))]

use serde::Serialize;

/// What ran where, where a device was asked for.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Computed {
    /// Name of the device.
    pub(super) name: String,
    /// The columns in their own format.
    pub(super) columns: Vec<ComputedColumn>,
    /// Seconds that threads waited for it, all together.
    pub(super) waited_s: f64,
    /// How much of the work of its lanes was copying.
    pub(super) copying_share: f64,
    /// Seconds of threads that the CPU would have taken for these values, as far as a sample tells; none without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cpu_s: Option<f64>,
}

/// What ran where in one column. Values that were permuted more than once, since their format demands it, are counted
/// as often.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ComputedColumn {
    pub(super) name: String,
    pub(super) device_values: u64,
    pub(super) cpu_values: u64,
}

impl Computed {
    /// The lines for the user.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for ComputedColumn { name, device_values, cpu_values } in &self.columns {
            text.push_str(&format!("  {name}: {device_values} values on {}, {cpu_values} on the CPU\n", self.name));
        }
        let on_device: u64 = self.columns.iter().map(|column| column.device_values).sum();
        if on_device == 0 {
            text.push_str(&format!(
                "  nothing ran on {}: it takes values in their own format (ff1), many of one length at a time\n",
                self.name
            ));
            return text;
        }
        let copying = self.copying_share * 100.0;
        text.push_str(&format!(
            "  threads waited {:.2} s for {}, {copying:.0} % of whose work was copying",
            self.waited_s, self.name
        ));
        if let Some(cpu_s) = self.cpu_s {
            text.push_str(&format!("; the CPU would have taken them about {cpu_s:.2} s"));
        }
        text.push('\n');
        if self.cpu_s.is_some_and(|cpu_s| cpu_s < self.waited_s) {
            text.push_str(&format!("  {} was slower here: without --device this is quicker\n", self.name));
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
        Computed { name: "cuda:0".into(), columns, waited_s, copying_share, cpu_s }.text()
    }

    #[test]
    fn it_is_said_what_ran_where_and_whether_that_was_worth_it() {
        let ran = "  phone: 100000 values on cuda:0, 7 on the CPU\n  threads waited 1.50 s for cuda:0, 42 % of whose work \
                   was copying";
        assert_eq!(computed(100_000, None), format!("{ran}\n"));
        let about = "; the CPU would have taken them about";
        assert_eq!(computed(100_000, Some(3.0)), format!("{ran}{about} 3.00 s\n"));
        let slower = "  cuda:0 was slower here: without --device this is quicker\n";
        assert_eq!(computed(100_000, Some(0.25)), format!("{ran}{about} 0.25 s\n{slower}"));
        assert!(
            computed(0, None).contains("7 on the CPU\n  nothing ran on cuda:0: it takes values in their own format")
        );
    }
}
