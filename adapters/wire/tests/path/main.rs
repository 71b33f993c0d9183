//! The path between two namespaces: TCP through it, attackers and a bad network before it, and its
//! leftovers.

mod attack;
mod capture;
mod ending;
mod lab;
mod link;
mod others;
#[path = "../scapy/mod.rs"]
mod scapy;
mod transfer;
mod tshark;
