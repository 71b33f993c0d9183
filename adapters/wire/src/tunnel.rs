//! Tunnels between two machines: the agreement on keys (`handshake`, and `protocol`, which begins
//! handshakes and answers them), and one end that runs ([`Service`]; [`ManualService`] where others
//! agreed on the keys).
//!
//! A [`Config`] is the requested tunnel, a [`Status`] the actual state. A running end is found in
//! the [`RuntimeDir`]. Its [`Guard`] keeps packets off other routes once it is gone, and [`Guards`]
//! lists existing guards.
//!
//! Not here: carrying packets (`path`).

mod config;
mod guard;
mod guards;
mod handshake;
mod protocol;
mod runtime;
mod service;
mod status;

pub use self::config::{
    AgreedKeys, Config, ConfigError, DEFAULT_NAME, Keys, ManualKeys, Plan, check_name,
};
pub use self::guard::Guard;
pub use self::guards::{GuardError, Guards};
pub use self::handshake::{Reason, Refused};
pub use self::protocol::Event;
pub use self::runtime::{Claim, RuntimeDir, RuntimeError};
pub use self::service::{ManualService, Service, ServiceError};
pub use self::status::{
    EventStatus, GuardStatus, ManualStatus, STATUS_SCHEMA, SessionStatus, Status, Traffic,
};
