//! Sessions with a token, in which one of its keys seals and opens. Calls go through the crate
//! `cryptoki`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, PoisonError};

use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::error::{Error, RvError};
use cryptoki::mechanism::Mechanism;
use cryptoki::mechanism::aead::GcmParams;
use cryptoki::object::{Attribute, AttributeType, KeyType, ObjectClass, ObjectHandle};
use cryptoki::session::{Session, UserType};
use cryptoki::slot::Slot;
use cryptoki::types::RawAuthPin;
use sealstone_file::trust;
use zeroize::Zeroizing;

use super::address::TokenAddress;
use super::error::TokenError;
use super::sealed_secret::{NONCE_BYTES, SECRET_BYTES, SealedByToken, TAG_BYTES};

/// Length of a key that is made in a token, in bytes.
const KEY_BYTES: u64 = 32;

/// A key of a token, in a session of its own.
pub(crate) struct TokenKey<'a> {
    address: &'a TokenAddress,
    session: Session,
    key: ObjectHandle,
}

impl<'a> TokenKey<'a> {
    /// Opens a session with the token, and finds the key.
    pub(super) fn open(address: &'a TokenAddress, pin: &[u8]) -> Result<Self, TokenError> {
        let session = session(address, pin, false)?;
        let mut found = keys(address, &session)?;
        let key = match (found.pop(), found.len()) {
            (Some(key), 0) => key,
            (None, _) => {
                return Err(TokenError::NoKey {
                    token: address.token_name(),
                    key: address.key_name(),
                });
            }
            (Some(_), others) => {
                let address = address.to_string();
                return Err(TokenError::Several { count: others + 1, what: "key", address });
            }
        };
        check_kind(address, &session, key)?;
        Ok(Self { address, session, key })
    }

    /// Makes the key.
    pub(super) fn make(address: &TokenAddress, pin: &[u8]) -> Result<(), TokenError> {
        let session = session(address, pin, true)?;
        if !keys(address, &session)?.is_empty() {
            return Err(TokenError::KeyExists {
                token: address.token_name(),
                key: address.key_name(),
            });
        }
        let mut template = vec![
            Attribute::Class(ObjectClass::SECRET_KEY),
            Attribute::KeyType(KeyType::AES),
            Attribute::ValueLen(KEY_BYTES.into()),
            Attribute::Token(true),
            Attribute::Private(true),
            Attribute::Sensitive(true),
            Attribute::Extractable(false),
            Attribute::Encrypt(true),
            Attribute::Decrypt(true),
            Attribute::Wrap(false),
            Attribute::Unwrap(false),
            Attribute::Sign(false),
            Attribute::Verify(false),
            Attribute::Derive(false),
        ];
        template.extend(name_of(address));
        let made = session.generate_key(&Mechanism::AesKeyGen, &template);
        made.map(drop).map_err(failed(address, "making a key"))
    }

    /// Seals `plain` in the token, with a nonce that the token draws, bound to `associated`.
    pub(crate) fn seal(
        &self,
        plain: &[u8; SECRET_BYTES],
        associated: &[u8],
    ) -> Result<SealedByToken, TokenError> {
        let mut nonce = [0; NONCE_BYTES];
        let drawn = self.session.generate_random_slice(&mut nonce);
        drawn.map_err(failed(self.address, "drawing a nonce"))?;
        let doing = "sealing";
        let sealed = {
            // a token that draws its nonces itself writes its own here
            let params = GcmParams::new(&mut nonce, associated, tag_bits())
                .map_err(failed(self.address, doing))?;
            self.session.encrypt(&Mechanism::AesGcm(params), self.key, plain)
        };
        let sealed = sealed.map_err(|error| self.cannot(error, doing))?;
        let (bytes, tag) = sealed.split_at_checked(SECRET_BYTES).unwrap_or_default();
        match (bytes.try_into(), tag.try_into()) {
            (Ok(bytes), Ok(tag)) => Ok(SealedByToken { nonce, bytes, tag }),
            _ => Err(TokenError::Failed {
                token: self.address.token_name(),
                doing,
                found: format!("it returned {} bytes", sealed.len()),
            }),
        }
    }

    /// Opens `sealed` in the token into `out`, which stays as it is after an error.
    pub(crate) fn open_sealed(
        &self,
        sealed: &SealedByToken,
        associated: &[u8],
        out: &mut [u8; SECRET_BYTES],
    ) -> Result<(), TokenError> {
        let doing = "opening";
        let mut nonce = sealed.nonce;
        let message = [&sealed.bytes[..], &sealed.tag[..]].concat();
        let params = GcmParams::new(&mut nonce, associated, tag_bits())
            .map_err(failed(self.address, doing))?;
        let opened = self.session.decrypt(&Mechanism::AesGcm(params), self.key, &message);
        let opened = Zeroizing::new(opened.map_err(|error| match error {
            // tokens report a wrong tag in many ways, and none by a word of its own
            Error::Pkcs11(
                RvError::EncryptedDataInvalid
                | RvError::EncryptedDataLenRange
                | RvError::GeneralError
                | RvError::FunctionFailed,
                _,
            ) => TokenError::NotOpened {
                token: self.address.token_name(),
                key: self.address.key_name(),
                found: in_words(&error),
            },
            error => self.cannot(error, doing),
        })?);
        match <&[u8; SECRET_BYTES]>::try_from(opened.as_slice()) {
            Ok(opened) => {
                out.copy_from_slice(opened);
                Ok(())
            }
            Err(_) => Err(TokenError::Failed {
                token: self.address.token_name(),
                doing,
                found: format!("it returned {} bytes", opened.len()),
            }),
        }
    }

    fn cannot(&self, error: Error, doing: &'static str) -> TokenError {
        match error {
            Error::Pkcs11(
                RvError::MechanismInvalid
                | RvError::MechanismParamInvalid
                | RvError::FunctionNotSupported
                | RvError::KeyTypeInconsistent
                | RvError::KeyFunctionNotPermitted
                | RvError::KeySizeRange,
                _,
            )
            | Error::NullFunctionPointer => {
                TokenError::Lacks { token: self.address.token_name(), found: in_words(&error) }
            }
            error => failed(self.address, doing)(error),
        }
    }
}

fn tag_bits() -> cryptoki::types::Ulong {
    (8 * TAG_BYTES as u64).into()
}

/// Opens a session in which the token's user is logged in. The token logs them out when the last
/// session of this process is closed; others of it may go on.
fn session(address: &TokenAddress, pin: &[u8], writes: bool) -> Result<Session, TokenError> {
    let context = library(&address.library)
        .map_err(|found| TokenError::Library { file: address.library.clone(), found })?;
    let slot = slot(address, &context)?;
    let session =
        if writes { context.open_rw_session(slot) } else { context.open_ro_session(slot) };
    let session = session.map_err(failed(address, "opening a session"))?;
    let pin = RawAuthPin::new(Box::new(pin.to_vec()));
    match session.login_with_raw(UserType::User, &pin) {
        Ok(()) | Err(Error::Pkcs11(RvError::UserAlreadyLoggedIn, _)) => Ok(session),
        Err(
            error @ Error::Pkcs11(
                RvError::PinIncorrect
                | RvError::PinInvalid
                | RvError::PinLenRange
                | RvError::PinLocked
                | RvError::PinExpired
                | RvError::UserPinNotInitialized,
                _,
            ),
        ) => Err(TokenError::Pin { token: address.token_name(), found: in_words(&error) }),
        Err(error) => Err(failed(address, "taking the PIN")(error)),
    }
}

/// Returns the slot of the token.
fn slot(address: &TokenAddress, context: &Pkcs11) -> Result<Slot, TokenError> {
    let looking = failed(address, "looking for tokens");
    let mut present = Vec::new();
    let mut meant = Vec::new();
    for slot in context.get_slots_with_token().map_err(&looking)? {
        let token = match context.get_token_info(slot) {
            Ok(token) => token,
            // it was taken out in the meantime
            Err(Error::Pkcs11(RvError::TokenNotPresent, _)) => continue,
            Err(error) => return Err(looking(error)),
        };
        let is = |wanted: &Option<String>, found: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted == found)
        };
        if is(&address.token, token.label())
            && is(&address.serial, token.serial_number())
            && address.slot.is_none_or(|wanted| wanted == slot.id())
        {
            meant.push(slot);
        }
        if token.token_initialized() {
            present.push(token.label().to_owned());
        }
    }
    match meant[..] {
        [slot] => Ok(slot),
        [] => Err(TokenError::NoToken {
            token: address.token_name(),
            present: if present.is_empty() { "none".into() } else { present.join(", ") },
        }),
        _ => Err(TokenError::Several {
            count: meant.len(),
            what: "token",
            address: address.to_string(),
        }),
    }
}

/// Returns the secret keys of that name.
fn keys(address: &TokenAddress, session: &Session) -> Result<Vec<ObjectHandle>, TokenError> {
    let mut template = vec![Attribute::Class(ObjectClass::SECRET_KEY)];
    template.extend(name_of(address));
    session.find_objects(&template).map_err(failed(address, "looking for the key"))
}

fn name_of(address: &TokenAddress) -> impl Iterator<Item = Attribute> {
    let label = address.object.clone().map(|label| Attribute::Label(label.into_bytes()));
    label.into_iter().chain(address.id.clone().map(Attribute::Id))
}

/// Checks that the key is one for AES that the token keeps to itself. What the token does not say
/// of it is not taken for granted.
fn check_kind(
    address: &TokenAddress,
    session: &Session,
    key: ObjectHandle,
) -> Result<(), TokenError> {
    let wanted = [AttributeType::KeyType, AttributeType::Sensitive, AttributeType::Extractable];
    let found =
        session.get_attributes(key, &wanted).map_err(failed(address, "describing a key"))?;
    let is = |wanted: Attribute| found.contains(&wanted);
    let found = if !is(Attribute::KeyType(KeyType::AES)) {
        "is not one for AES"
    } else if !is(Attribute::Sensitive(true)) {
        "is not secret: the token shows it to its users"
    } else if !is(Attribute::Extractable(false)) {
        "may leave the token, wrapped (CKA_EXTRACTABLE)"
    } else {
        return Ok(());
    };
    let (token, key) = (address.token_name(), address.key_name());
    Err(TokenError::KeyKind { token, key, found })
}

fn failed(address: &TokenAddress, doing: &'static str) -> impl Fn(Error) -> TokenError {
    let token = address.token_name();
    move |error| TokenError::Failed { token: token.clone(), doing, found: in_words(&error) }
}

/// Returns the name of the error in the standard, `CKR_PIN_INCORRECT`, which is what vendors'
/// manuals list.
fn in_words(error: &Error) -> String {
    match error {
        Error::Pkcs11(code, _) => {
            let name: String = format!("{code:?}")
                .chars()
                .flat_map(|c| c.is_uppercase().then_some('_').into_iter().chain([c]))
                .collect();
            format!("CKR{}", name.to_uppercase())
        }
        other => other.to_string(),
    }
}

/// Returns the library at `path`, which stays loaded as long as the process lives. A forked process
/// has to initialise it again.
fn library(path: &Path) -> Result<Pkcs11, String> {
    static LOADED: Mutex<BTreeMap<PathBuf, (Pkcs11, u32)>> = Mutex::new(BTreeMap::new());
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = loaded.get(path).map(|(context, process)| (context.clone(), *process));
    let context = match known {
        Some((context, process)) if process == process::id() => return Ok(context),
        Some((context, _)) => context,
        None => {
            // its name is in the key file, which may come from elsewhere
            trust::check(path).map_err(|found| found.to_string())?;
            Pkcs11::new(path).map_err(|error| match error {
                Error::LibraryLoading(found) => found.to_string(),
                other => other.to_string(),
            })?
        }
    };
    match context.initialize(CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK)) {
        // who else uses it in this process has done so
        Ok(()) | Err(Error::Pkcs11(RvError::CryptokiAlreadyInitialized, _)) => {}
        Err(error) => return Err(in_words(&error)),
    }
    loaded.insert(path.to_owned(), (context.clone(), process::id()));
    Ok(context)
}
