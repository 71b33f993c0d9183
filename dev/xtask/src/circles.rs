//! No circle between the files of a crate: what two files need is below both.
//!
//! Not here: which file uses which (`module_graph`), and how crates depend on each other (`dependencies`).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use self::allowed::{ALLOWED, Allowed};
use crate::module_graph::Graph;

mod allowed;

/// One line for each circle that is not allowed, and for each permission that nothing needs any more.
pub(crate) fn findings(graphs: &[Graph]) -> Vec<String> {
    let of = |entry: &Allowed| {
        let Allowed { sources, why, uses } = *entry;
        uses.iter().map(move |(user, used)| (format!("{sources}{user}"), format!("{sources}{used}"), why))
    };
    against(graphs, &ALLOWED.iter().flat_map(of).collect::<Vec<_>>())
}

/// `allowed`: who may use whom, and why.
fn against(graphs: &[Graph], allowed: &[(String, String, &str)]) -> Vec<String> {
    let is_allowed = |from: &str, to: &str| allowed.iter().any(|(user, used, _)| user == from && used == to);
    let mut found = Vec::new();
    for graph in graphs {
        let mut left: Graph = graph.clone();
        left.retain(|(from, to), _| !is_allowed(from, to));
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
    for (user, used, why) in allowed {
        let edge = (user.clone(), used.clone());
        let needed = graphs.iter().any(|graph| graph.contains_key(&edge) && way(graph, used, user).is_some());
        if !needed {
            found.push(format!(
                "{user} uses {used} in no circle any more ({why}): take it out of dev/xtask/src/circles/allowed.rs"
            ));
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
        assert_eq!(against(&graph(&[("a", "b"), ("b", "c"), ("a", "c")]), &[]), [""; 0]);
    }

    #[test]
    fn every_circle_is_found() {
        let found = against(&graph(&[("a", "b"), ("b", "a"), ("b", "c"), ("c", "d"), ("d", "b")]), &[]);
        assert_eq!(
            found,
            [
                "a circle between files: a:1 uses b (crate::b), b:2 uses a (crate::a)",
                "a circle between files: b:3 uses c (crate::c), c:4 uses d (crate::d), d:5 uses b (crate::b)"
            ]
        );
    }

    #[test]
    fn what_is_allowed_must_be_needed() {
        let circle = graph(&[("a", "b"), ("b", "a")]);
        let allowed = |user: &str, used: &str| (user.to_owned(), used.to_owned(), "why");
        assert_eq!(against(&circle, &[allowed("b", "a")]), [""; 0]);
        let stale = against(&circle, &[allowed("b", "a"), allowed("a", "c")]);
        assert_eq!(stale, ["a uses c in no circle any more (why): take it out of dev/xtask/src/circles/allowed.rs"]);
        assert_eq!(against(&graph(&[("b", "a")]), &[allowed("b", "a")]).len(), 1);
    }
}
