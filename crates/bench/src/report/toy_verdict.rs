//! The toy of a verdict word: its row of the table is all that results, cells, charts, answers and
//! comparisons of candidates need.

use super::{charts, tables};
use crate::results::{Interval, Overhead};
use crate::words::verdict::{Mark, Quantity, Verdict, filled};

#[test]
fn a_verdict_word_is_one_row() {
    let toy = Verdict::Toy;
    let ends = (0.95, 0.99);
    let overhead = Overhead {
        ratio: 0.97,
        interval: Some(Interval { low: ends.0, high: ends.1 }),
        pairs: 6,
        loads: 6,
        verdict: toy,
        words: "plays with everything that it finds lying about".into(),
        cpu_ratio: 1.0,
    };
    let json = serde_json::to_value(&overhead).unwrap();
    assert_eq!(json["verdict"], "toy");
    let cell = tables::verdict(&overhead, false);
    assert_eq!(
        (cell.note.as_str(), cell.mark, cell.class),
        ("plays", Mark::Diamond.sign(), "figure toy")
    );
    assert_eq!(charts::in_words(&overhead), "plays (−3.0 % ± 2.0)");
    let effect = |quantity| toy.effect(quantity, overhead.ratio, ends, "redis");
    assert_eq!(effect(Quantity::Throughput), "redis plays at 3.0 % slower");
    assert_eq!(effect(Quantity::Latency), "the p99 of redis plays at 3.0 % shorter");
    let values = [("label", "a"), ("own", "plays"), ("best", "b"), ("range", "here and there")];
    let said = toy.row().comparison.iter().map(|clause| filled(clause, &values));
    assert_eq!(said.collect::<Vec<_>>(), ["a plays, and plays with b: here and there"]);
    assert!(!toy.is_claim() && !toy.is_open());
}
