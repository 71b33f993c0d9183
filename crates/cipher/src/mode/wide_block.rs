//! The parts of HCTR2 under one key: a block cipher in a counter mode, and the hash of what that
//! writes, which may go side by side. Not here: the mode (`hctr2`).

/// Bytes of a block, or the state of a hash.
pub(crate) type Block = [u8; 16];

/// The block cipher and the hash of HCTR2 under one key.
pub(crate) trait XctrAndPolyval: Send + Sync {
    /// Returns the name of the backend that the block cipher uses.
    fn backend(&self) -> &'static str;

    /// Encrypts one block.
    fn encrypt_block(&self, block: Block) -> Block;

    /// Decrypts one block.
    fn decrypt_block(&self, block: Block) -> Block;

    /// Returns the hash whose state was `state`, zeros at first, after `parts`, whole blocks each.
    fn absorb(&self, state: Block, parts: &[&[u8]]) -> Block;

    /// XORs `data` as [`xctr`](super::xctr) and returns the hash whose state was `state` after
    /// what it is then; a last part of a block has a one behind it, then zeros (section 2.1).
    fn xor_xctr_and_absorb(&self, first: &Block, data: &mut [u8], state: Block) -> Block;
}
