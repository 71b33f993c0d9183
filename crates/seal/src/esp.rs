//! Sealed packets: the IP Encapsulating Security Payload in tunnel mode, over byte slices. A whole
//! IP packet goes in and a sealed one comes out, or the other way round.
//!
//! [`Suite`] is a row of the table of suites, [`Outbound`] seals many packets at a time under one
//! key, [`Inbound`] opens many at a time, and refuses packets that were changed, repeated or meant
//! for others; [`udp`] classifies datagrams on ESP's port. The caller draws keys (`sealstone-keys`,
//! a handshake), and changes to a successor before [`Outbound::is_due`] becomes
//! [`EspError::Exhausted`].
//!
//! Not here: outer headers, sockets and devices, which belong to the path; fragments, which the
//! path reassembles.
//!
//! CBC encryption, HMAC and bitsliced ciphers are quick only across packets, hence many at a time.
//! [`Inbound`] looks at a sequence number before it authenticates the packet and notes it
//! afterwards. [`Inbound::open_many`] authenticates a batch at once, then admits packet by packet,
//! as the window is after the packets before, and decrypts at once what was admitted. Batches
//! allocate nothing (`spare`). `--bench esp_speed` measures the suites.
//!
//! Tests with scapy, in both directions: `dev/e2e/tests/esp.rs`, for a running path
//! `adapters/wire/tests/path/others.rs`.
//!
//! ```
//! use sealstone_cipher::Backend;
//! use sealstone_seal::esp::{Association, Inbound, Outbound, Sealed, suite};
//!
//! let suite = suite("aes-256-gcm")?;
//! // keys of the suite's lengths, fresh for each association
//! let (key, integrity_key) = ([7; 36], []);
//! let association = Association { spi: 0x1000, suite, extended: true, backend: Backend::auto() };
//! let mut outbound = Outbound::new(&association, &key, &integrity_key)?;
//! let mut inbound = Inbound::new(&association, &key, &integrity_key, 1024)?;
//!
//! let packet = [&[0x45, 0, 0, 24][..], &[0; 16], b"data"].concat();
//! let mut sealed = Sealed::default();
//! outbound.seal(&[&packet], &mut sealed)?;
//! let mut arrived = sealed.packets().next().unwrap().to_vec();
//! let opened = inbound.open(&mut arrived)?.expect("it is no dummy");
//! assert_eq!(arrived[opened], packet);
//! let mut again = sealed.packets().next().unwrap().to_vec();
//! assert!(inbound.open(&mut again).is_err(), "it came before");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Source: RFC 4303; RFC 2403, 2404, 2410, 2451, 3602, 4106, 4868 for the suites; RFC 3948 for UDP.

mod association;
mod error;
mod inbound;
mod inner;
mod iv;
mod outbound;
mod spare;
pub mod udp;
mod window;

pub use association::{Association, Lifetime};
pub use error::{EspError, Refusal};
pub use inbound::{Counters, Inbound, Opened};
pub use outbound::{Outbound, Sealed};
pub use sealstone_cipher::suites::{Encryption, Suite, Transform, suite, suites};
pub use window::WINDOW_PACKETS_MAX;
