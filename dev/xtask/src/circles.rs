//! No circle between the files of a crate, nor between neighbouring modules with their folders:
//! code that two need is below both.
//!
//! Not here: uses between files (`module_graph`), and dependencies between crates (`dependencies`).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::module_graph::Graph;

/// Returns one line for each circle.
pub(crate) fn findings(graphs: &[Graph]) -> Vec<String> {
    let files = graphs.iter().flat_map(|graph| circles_of(graph, "files"));
    let modules = graphs.iter().flat_map(levels).flat_map(|level| circles_of(&level, "modules"));
    files.chain(modules).collect()
}

fn circles_of(graph: &Graph, of: &str) -> Vec<String> {
    let (mut left, mut found) = (graph.clone(), Vec::new());
    while let Some(circle) = shortest_circle(&left) {
        let shown = circle.iter().map(|edge| {
            let (line, path) = &left[edge];
            format!("{}:{line} uses {} ({path})", edge.0, edge.1)
        });
        found.push(format!("a circle between {of}: {}", shown.collect::<Vec<_>>().join(", ")));
        // so that the next one is another
        left.remove(circle.last().expect("a circle has edges"));
    }
    found
}

/// Returns the graphs of neighbouring modules, one for each folder. Their edges come from the files
/// in them.
fn levels(files: &Graph) -> Vec<Graph> {
    let mut levels = BTreeMap::<String, Graph>::new();
    for ((user, used), (line, path)) in files {
        let [user_parts, used_parts] = [user, used].map(|file| module(file));
        let shared =
            user_parts.iter().zip(&used_parts).take_while(|(one, other)| one == other).count();
        if shared == user_parts.len() || shared == used_parts.len() {
            continue; // one is in the other
        }
        let at = |parts: &[&str]| parts[..=shared].join("/");
        let level = levels.entry(user_parts[..shared].join("/")).or_default();
        level
            .entry((at(&user_parts), at(&used_parts)))
            .or_insert_with(|| (*line, format!("{path} in {user}")));
    }
    levels.into_values().collect()
}

/// Returns the module that `file` holds, as the names of the folders to it.
fn module(file: &str) -> Vec<&str> {
    let stem = file.trim_end_matches(".rs");
    let mut parts: Vec<&str> = stem.split('/').collect();
    if matches!(parts.last(), Some(&("mod" | "lib" | "main"))) {
        parts.pop();
    }
    parts
}

/// Returns the edges of a circle, of as few as there are.
fn shortest_circle(graph: &Graph) -> Option<Vec<(String, String)>> {
    let circle = |edge: &(String, String)| {
        let mut edges = way(graph, &edge.1, &edge.0)?;
        edges.insert(0, edge.clone());
        Some(edges)
    };
    graph.keys().filter_map(circle).min_by_key(Vec::len)
}

/// Returns the edges of a shortest way between two files.
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
    fn folders_side_by_side_use_each_other_in_one_direction() {
        let there = ("src/a/one.rs", "src/b/two.rs");
        assert_eq!(
            findings(&graph(&[
                there,
                ("src/a/mod.rs", "src/a/one.rs"),
                ("src/a/one.rs", "src/lib.rs")
            ])),
            [""; 0]
        );
        let found = findings(&graph(&[there, ("src/b/three.rs", "src/a.rs")]));
        let want = "a circle between modules: src/a:1 uses src/b (crate::src/b/two.rs in \
                    src/a/one.rs), src/b:2 uses src/a (crate::src/a.rs in src/b/three.rs)";
        assert_eq!(found, [want]);
    }

    #[test]
    fn one_direction_is_no_circle() {
        assert_eq!(findings(&graph(&[("a", "b"), ("b", "c"), ("a", "c")])), [""; 0]);
    }

    #[test]
    fn every_circle_is_found() {
        let graphs = graph(&[("a", "b"), ("b", "a"), ("b", "c"), ("c", "d"), ("d", "b")]);
        assert_eq!(
            circles_of(&graphs[0], "files"),
            [
                "a circle between files: a:1 uses b (crate::b), b:2 uses a (crate::a)",
                "a circle between files: b:3 uses c (crate::c), c:4 uses d (crate::d), d:5 uses b \
                 (crate::b)"
            ]
        );
    }
}
