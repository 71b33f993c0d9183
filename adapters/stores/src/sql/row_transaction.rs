//! Transactions that change rows of a table whose columns are sealed in place.

use sealstone_fields::migration::{FailureKind, Layout, RowChange, ServerFailure, TableServer};

/// Steps of such a transaction.
pub(crate) trait RowTransaction: TableServer {
    /// Begins it and sends the changes, without its end. Returns how many rows were changed. After
    /// a lasting failure the connection answers questions, if it is still there.
    ///
    /// # Errors
    /// The server's error; a row in which the server stored something else.
    fn write_all(&mut self, layout: &Layout, changes: &[RowChange]) -> Result<u64, ServerFailure>;

    /// Commits it.
    ///
    /// # Errors
    /// The server's error.
    fn commit(&mut self) -> Result<(), ServerFailure>;

    /// Rolls it back; on a connection that is gone the server does it itself.
    fn roll_back(&mut self);

    /// Does what [`TableServer::write`] does.
    ///
    /// # Errors
    /// As [`TableServer::write`].
    fn write_checked(
        &mut self,
        layout: &Layout,
        changes: &[RowChange],
    ) -> Result<u64, ServerFailure> {
        // while rows are changed, nobody can make a trigger: the check now covers all of them
        let changed = match self.write_all(layout, changes) {
            Err(failure) if failure.kind == FailureKind::Lasting => {
                Err(self.check_order(layout).err().unwrap_or(failure))
            }
            Ok(changed) => self.check_order(layout).map(|()| changed),
            conflict => conflict,
        };
        match changed {
            Ok(changed) => self.commit().map(|()| changed),
            Err(failure) => {
                self.roll_back();
                Err(failure)
            }
        }
    }
}
