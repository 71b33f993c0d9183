//! The kernel's own ESP between the ends of a link that was made on this machine, set up by
//! iproute2.
//!
//! The tests run in user-mode Linux, a kernel that is a process
//! (`dev/e2e/src/user_mode_kernel.rs`), on machines whose own kernel has no ESP.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use sealstone_cipher::suites::{Encryption, Hash, Suite};
use sealstone_cipher::{Cipher, cipher_row};
use zeroize::Zeroizing;

use crate::error::WireError;
use crate::links::{DEVICE, Links};

/// Advice on what to do where the kernel refuses something.
const NEXT: &str = "this kernel may lack the ciphers of the suite, or ESP: take another suite, or \
                    another path, such as sealstone";
/// Messages of iproute2 where the kernel lacks the protocol, or is not built for it.
const LACKS_ESP: [&str; 3] =
    ["Requested type not found", "Protocol not supported", "Operation not supported"];

/// The kernel's names of block ciphers.
const CIPHERS: [(&Cipher, &str); 4] = [
    (cipher_row("aes-128"), "aes"),
    (cipher_row("aes-256"), "aes"),
    (cipher_row("3des"), "des3_ede"),
    (cipher_row("blowfish"), "blowfish"),
];

/// Returns the kernel's names of the ciphers of `suite`, with `key` and `mac_key`, as iproute2
/// takes them; none where it lacks the ciphers.
fn algorithms(suite: &Suite, key: &[u8], mac_key: &[u8]) -> Option<Zeroizing<String>> {
    let (key, mac_key) = (hexadecimal(key), hexadecimal(mac_key));
    let named =
        |cipher: &Cipher| CIPHERS.iter().find(|(row, _)| *row == cipher).map(|(_, name)| *name);
    match suite.encryption {
        Encryption::Null => None,
        Encryption::Gcm(cipher) => {
            let name = named(cipher)?;
            Some(Zeroizing::new(format!(
                "aead rfc4106(gcm({name})) {} {}",
                *key,
                8 * suite.tag_bytes()
            )))
        }
        Encryption::Cbc(cipher) => {
            let (name, mac) = (named(cipher)?, suite.mac?);
            let hash = match mac.hash {
                Hash::Md5 => "md5",
                Hash::Sha1 => "sha1",
                Hash::Sha256 => "sha256",
            };
            let bits = 8 * mac.tag_bytes;
            Some(Zeroizing::new(format!(
                "enc cbc({name}) {} auth-trunc hmac({hash}) {} {bits}",
                *key, *mac_key
            )))
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::with_capacity(2 + 2 * bytes.len()));
    text.push_str("0x");
    // into memory that is zeroed; a String takes everything
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Returns whether the kernel may have the ciphers of `suite`.
pub(crate) fn has(suite: &Suite) -> bool {
    algorithms(suite, &[], &[]).is_some()
}

/// A key and an integrity key.
pub(crate) type Keys = (Zeroizing<Vec<u8>>, Zeroizing<Vec<u8>>);

/// Has the kernel seal what goes between the `inner` addresses of the two ends of `links`. All of
/// it goes away with the namespaces. The keys of the two directions are used as long as that lasts.
///
/// # Errors
/// [`WireError::NoKernelEsp`]; [`WireError::Command`]: no iproute2, a suite that the kernel has no
/// ciphers for.
pub(crate) fn start(
    links: &Links,
    suite: &Suite,
    inner: [&str; 2],
    keys: &[Keys; 2],
) -> Result<(), WireError> {
    let failed =
        |found: String, next| WireError::Command { command: "ip xfrm".into(), found, next };
    for end in [0, 1] {
        let [own, peer] = [end, 1 - end].map(|end| links.address(end, false));
        // as large as it gets, so that no copy of a key is left behind
        let mut batch = Zeroizing::new(String::with_capacity(4_096));
        for (from, (key, mac_key)) in keys.iter().enumerate() {
            let (source, destination) =
                (links.address(from, false), links.address(1 - from, false));
            let algorithms = algorithms(suite, key, mac_key).ok_or_else(|| {
                failed(format!("the kernel has no {}", suite.name), "choose another suite or path")
            })?;
            let spi = 0x1000 + from;
            let line = writeln!(
                batch,
                "xfrm state add src {source} dst {destination} proto esp spi {spi:#x} reqid 1 mode \
                 tunnel replay-window 32 {}",
                *algorithms
            );
            line.map_err(|error| failed(error.to_string(), NEXT))?;
        }
        let (here, there) = (inner[end], inner[1 - end]);
        batch.push_str(&format!(
            "address add {here}/32 dev lo\n\
             route add {there}/32 via {peer} dev {DEVICE} src {here}\n\
             xfrm policy add src {here}/32 dst {there}/32 dir out tmpl src {own} dst {peer} proto \
             esp reqid 1 mode tunnel\n\
             xfrm policy add src {there}/32 dst {here}/32 dir in tmpl src {peer} dst {own} proto \
             esp reqid 1 mode tunnel\n"
        ));
        links.ends[end].run(|| run(&batch).map_err(|found| refused(found, failed)))?;
    }
    Ok(())
}

/// Turns the message of iproute2 in `found` into an error: the kernel without ESP, or what `failed`
/// makes of it.
fn refused(found: String, failed: impl Fn(String, &'static str) -> WireError) -> WireError {
    match LACKS_ESP.iter().any(|lacks| found.contains(lacks)) {
        true => {
            WireError::NoKernelEsp { found: found.lines().next().unwrap_or_default().to_owned() }
        }
        false => failed(found, NEXT),
    }
}

/// Runs the lines of `batch` in `ip`, through its input, since everybody can see arguments. Returns
/// its output if it failed.
fn run(batch: &str) -> Result<(), String> {
    let mut ip = Command::new("ip");
    ip.args(["-batch", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = ip.spawn().map_err(|error| error.to_string())?;
    let written = child.stdin.take().map_or(Ok(()), |mut input| input.write_all(batch.as_bytes()));
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => written.map_err(|error| error.to_string()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ")),
    }
}

#[cfg(test)]
mod tests {
    use sealstone_seal::esp::{suite, suites};

    use super::*;

    #[test]
    fn a_kernel_without_esp_is_told_from_one_that_lacks_a_cipher() {
        let failed = |found, next| WireError::Command { command: "ip xfrm".into(), found, next };
        let said = refused("Error: Requested type not found.; Command failed -:1".into(), failed)
            .to_string();
        assert!(
            said.starts_with(
                "this kernel has no ESP: ip xfrm says \"Error: Requested type not found."
            ),
            "{said}"
        );
        assert!(said.ends_with("or take another path, such as sealstone"), "{said}");
        let said =
            refused("Error: Requested CRYPT algorithm not found.".into(), failed).to_string();
        assert!(
            said.starts_with("ip xfrm failed: ")
                && said.contains("may lack the ciphers of the suite"),
            "{said}"
        );
    }

    #[test]
    fn suites_have_the_names_of_the_kernel() {
        let of = |name: &str| {
            algorithms(suite(name).unwrap(), &[1, 0xab], &[2]).map(|text| text.to_string())
        };
        assert_eq!(of("aes-256-gcm").unwrap(), "aead rfc4106(gcm(aes)) 0x01ab 128");
        assert_eq!(
            of("3des-md5").unwrap(),
            "enc cbc(des3_ede) 0x01ab auth-trunc hmac(md5) 0x02 96"
        );
        assert_eq!(
            of("aes-128-sha256").unwrap(),
            "enc cbc(aes) 0x01ab auth-trunc hmac(sha256) 0x02 128"
        );
        let missing: Vec<&str> =
            suites().iter().filter(|suite| !has(suite)).map(|suite| suite.name).collect();
        assert!(
            missing
                .iter()
                .all(|name| name.starts_with("aria") || name.starts_with("lea") || *name == "null")
        );
    }
}
