//! No circle between the files of a crate: what two files need is below both.
//!
//! Not here: which file uses which (`module_graph`), and how crates depend on each other (`dependencies`).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::module_graph::Graph;

/// One line for each circle.
pub(crate) fn findings(graphs: &[Graph]) -> Vec<String> {
    let mut found = Vec::new();
    for graph in graphs {
        let mut left: Graph = graph.clone();
        while let Some(circle) = shortest_circle(&left) {
            let shown: Vec<String> = circle
                .iter()
                .map(|edge| {
                    let (line, path) = &left[edge];
                    format!("{}:{line} uses {} ({path})", edge.0, edge.1)
                })
                .collect();
            found.push(format!("a circle between files: {}", shown.join(", ")));
            // so that the next one is another
            left.remove(circle.last().expect("a circle has edges"));
        }
    }
    found
}

/// The edges of a circle, of as few as there are.
fn shortest_circle(graph: &Graph) -> Option<Vec<(String, String)>> {
    let circle = |edge: &(String, String)| {
        let mut edges = way(graph, &edge.1, &edge.0)?;
        edges.insert(0, edge.clone());
        Some(edges)
    };
    graph.keys().filter_map(circle).min_by_key(Vec::len)
}

/// The edges of a shortest way between two files.
fn way(graph: &Graph, from: &str, to: &str) -> Option<Vec<(String, String)>> {
    let mut came: BTreeMap<&str, &(String, String)> = BTreeMap::new();
    let mut seen = BTreeSet::from([from]);
    let mut next = VecDeque::from([from]);
    while let Some(file) = next.pop_front() {
        if file == to {
            let mut edges = Vec::new();
            let mut at = to;
            while at != from {
                edges.push(came[at].clone());
                at = &came[at].0;
            }
            edges.reverse();
            return Some(edges);
        }
        for edge in graph.keys().filter(|(user, _)| user == file) {
            if seen.insert(&edge.1) {
                came.insert(&edge.1, edge);
                next.push_back(&edge.1);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(&str, &str)]) -> Vec<Graph> {
        let edge = |(line, (from, to)): (usize, &(&str, &str))| {
            (((*from).to_owned(), (*to).to_owned()), (line + 1, format!("crate::{to}")))
        };
        vec![edges.iter().enumerate().map(edge).collect()]
    }

    #[test]
    fn one_direction_is_no_circle() {
        assert_eq!(findings(&graph(&[("a", "b"), ("b", "c"), ("a", "c")])), [""; 0]);
    }

    #[test]
    fn every_circle_is_found() {
        let found = findings(&graph(&[("a", "b"), ("b", "a"), ("b", "c"), ("c", "d"), ("d", "b")]));
        assert_eq!(
            found,
            [
                "a circle between files: a:1 uses b (crate::b), b:2 uses a (crate::a)",
                "a circle between files: b:3 uses c (crate::c), c:4 uses d (crate::d), d:5 uses b (crate::b)"
            ]
        );
    }
}
