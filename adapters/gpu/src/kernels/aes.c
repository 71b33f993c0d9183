/* AES (FIPS 197), bitsliced; the constant of the S-box is in the round keys.
 *
 * ShiftRows renames words. */

/* MixColumns after ShiftRows (FIPS 197, 5.1.3) and the round key: 2 a + 3 b + c + d = 2 (a + b) + b + (c + d). */
INLINE void mix_column(word *mixed, const word *s, int c, int round KEYS)
{
	word sums[32];
	UNROLL for (int r = 0; r < 4; r++) {
		const word *a = s + 8 * (r + 4 * ((c + r) & 3)), *b = s + 8 * (((r + 1) & 3) + 4 * ((c + r + 1) & 3));
		UNROLL for (int i = 0; i < 8; i++) sums[8 * r + i] = a[i] ^ b[i];
	}
	UNROLL for (int r = 0; r < 4; r++) {
		const word *b = s + 8 * (((r + 1) & 3) + 4 * ((c + r + 1) & 3));
		const word *a_b = sums + 8 * r, *c_d = sums + 8 * ((r + 2) & 3);
		UNROLL for (int i = 0; i < 8; i++) {
			word x = a_b[(i + 7) & 7] ^ b[i] ^ c_d[i];
			/* x^8 = x^4 + x^3 + x + 1 */
			if (i == 1 || i == 3 || i == 4) x ^= a_b[7];
			mixed[8 * (r + 4 * c) + i] = x ^ keys[128 * round + 8 * (r + 4 * c) + i];
		}
	}
}

/* All rounds, on blocks to which the first round key was added. */
INLINE void rounds(word *s KEYS)
{
	word mixed[128];
	ONE_BY_ONE for (int round = 1; round < CIPHER_ROUNDS; round++) {
		UNROLL for (int i = 0; i < 16; i++) sub_byte(s + 8 * i);
		UNROLL for (int c = 0; c < 4; c++) mix_column(mixed, s, c, round PASS_KEYS);
		UNROLL for (int b = 0; b < 128; b++) s[b] = mixed[b];
	}
	UNROLL for (int i = 0; i < 16; i++) sub_byte(s + 8 * i);
	UNROLL for (int i = 0; i < 16; i++) {
		UNROLL for (int b = 0; b < 8; b++) mixed[8 * i + b] = s[8 * ((i & 3) + ((i + 4 * (i & 3)) & 12)) + b];
	}
	UNROLL for (int b = 0; b < 128; b++) s[b] = mixed[b];
	add_key(s, CIPHER_ROUNDS PASS_KEYS);
}
