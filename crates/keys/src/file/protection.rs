//! Changes of the holders of a key file and of their passphrases. Not here: a holder's entry in the
//! file (`holders`), opening and writing a file (`file`).

use sealstone_cipher::Provider;

use super::format::{Content, Guard};
use super::holders::{self, Holder as Member};
use super::{KeyFile, Protect, no_holder};
use crate::passphrase::Stretched;
use crate::{Cost, KeyError, Passphrase, Secret};

impl KeyFile {
    /// Gives the key file another protection. A passphrase for a file with several holders becomes
    /// that of the holder who opened the file. Processes that have the file open under the old
    /// protection refuse to seal anything new until they are restarted with the new one.
    ///
    /// A copy of the old file opens as it did, forever.
    ///
    /// # Errors
    /// [`KeyError::HoldersRemain`] if passphrases cannot be taken off since there are other
    /// holders; [`KeyError::Stretch`]; [`KeyError::Token`] and [`KeyError::TokenOf`]; and as
    /// [`KeyFile::rotate`].
    pub fn set_protection(&self, new: Protect<'_>) -> Result<(), KeyError> {
        let fresh = new.guard()?;
        self.change(|content| {
            let Content { id, guard, .. } = content;
            match (guard, fresh) {
                (Guard::Holders { mine, list, membership }, Guard::Passphrase(fresh)) => {
                    let me =
                        list.iter_mut().find(|member| member.is(mine)).expect("it opened the file");
                    *me = Member::new(id, &me.name, &fresh, membership)?;
                    *mine = fresh;
                    holders::check(list.iter()).map_err(|found| self.no_more_holders(found))
                }
                (Guard::Holders { list, .. }, _) if list.len() > 1 => {
                    Err(KeyError::HoldersRemain { path: self.path.clone(), holders: names(list) })
                }
                (guard, fresh) => {
                    *guard = fresh;
                    Ok(())
                }
            }
        })
    }

    /// Adds a holder, who opens the file with `passphrase`. The passphrase that a file without
    /// names has becomes that of a holder named `first`, and the file one of format 3, which
    /// earlier programs do not open.
    ///
    /// # Errors
    /// [`KeyError::NothingToShare`] if the file has no passphrase, [`KeyError::UnderToken`],
    /// [`KeyError::HolderExists`],
    /// [`KeyError::BadHolder`], [`KeyError::HoldersFull`], [`KeyError::Stretch`], and as
    /// [`KeyFile::rotate`].
    pub fn add_holder(
        &self,
        name: &str,
        passphrase: &Passphrase,
        cost: Cost,
        first: &str,
    ) -> Result<(), KeyError> {
        holders::check_name(name)?;
        let fresh = Stretched::fresh(passphrase, cost)?;
        self.change(|content| {
            let Content { id, guard, .. } = content;
            if let Guard::Passphrase(stretched) = guard {
                let (mine, membership) = (stretched.clone(), Secret::random(Provider::own())?);
                let list = vec![Member::new(id, first, &mine, &membership)?];
                *guard = Guard::Holders { mine, list, membership };
            }
            let Guard::Holders { list, membership, .. } = guard else {
                let path = self.path.clone();
                return Err(match guard {
                    Guard::Token(_) => KeyError::UnderToken { path },
                    _ => KeyError::NothingToShare { path },
                });
            };
            if list.iter().any(|member| member.name == name) {
                return Err(KeyError::HolderExists {
                    path: self.path.clone(),
                    holder: name.to_owned(),
                });
            }
            list.push(Member::new(id, name, &fresh, membership)?);
            holders::check(list.iter()).map_err(|found| self.no_more_holders(found))
        })
    }

    /// Removes the holder `name`: their passphrase no longer opens this file or any later one. Data
    /// they have opened, and copies of the old file, remain open to them: rotate the key next.
    ///
    /// # Errors
    /// [`KeyError::NoHolder`], [`KeyError::LastHolder`], and as [`KeyFile::rotate`].
    pub fn remove_holder(&self, name: &str) -> Result<(), KeyError> {
        self.change(|content| {
            let none = &mut Vec::new();
            let list =
                if let Guard::Holders { list, .. } = &mut content.guard { list } else { none };
            let Some(at) = list.iter().position(|member| member.name == name) else {
                return Err(no_holder(
                    &self.path,
                    name,
                    list.iter().map(|member| member.name.as_str()),
                ));
            };
            if list.len() == 1 {
                return Err(KeyError::LastHolder {
                    path: self.path.clone(),
                    holder: name.to_owned(),
                });
            }
            list.remove(at);
            Ok(())
        })
    }

    fn no_more_holders(&self, found: String) -> KeyError {
        KeyError::HoldersFull { path: self.path.clone(), found }
    }
}

fn names(list: &[Member]) -> Vec<String> {
    list.iter().map(|member| member.name.clone()).collect()
}
