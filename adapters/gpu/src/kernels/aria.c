/* ARIA (RFC 5794), bitsliced. All S-boxes are the circuit of AES between linear maps; their constants are in the
 * round keys. */

/* Linear maps, byte i from the top being the row for bit i of the result. A is the matrix of S1 and B that of S2 (RFC
 * 5794, 2.4.2), after inversion. */
#define A_INVERSE 0xa44992254a942952ul
#define B_INVERSE 0x186450c737d6bdc9ul
#define B_A_INVERSE 0x8312f396321aa0e7ul

INLINE void linear(word *x, const word64 rows)
{
	word y[8];
	UNROLL for (int i = 0; i < 8; i++) {
		word sum = 0;
		UNROLL for (int b = 0; b < 8; b++) {
			if (rows >> (56 - 8 * i + b) & 1) sum ^= x[b];
		}
		y[i] = sum;
	}
	UNROLL for (int i = 0; i < 8; i++) x[i] = y[i];
}

/* The substitution layers (RFC 5794, 2.4.2): type 1 in odd rounds, else type 2. */
INLINE void substitute(word *s, const int odd)
{
	UNROLL for (int i = 0; i < 16; i++) {
		word *x = s + 8 * i;
		/* S1, S2, and their inverses */
		int box = (i + (odd ? 0 : 2)) & 3;
		if (box == 2) linear(x, A_INVERSE);
		if (box == 3) linear(x, B_INVERSE);
		sub_byte(x);
		if (box == 1) linear(x, B_A_INVERSE);
		if (box >= 2) linear(x, A_INVERSE);
	}
}

/* The diffusion layer (RFC 5794, 2.4.3) and the round key. Each pair of bytes serves two of four outputs. */
INLINE void diffuse(word *s, int round KEYS)
{
	UNROLL for (int b = 0; b < 8; b++) {
		word x[16];
		UNROLL for (int i = 0; i < 16; i++) x[i] = s[8 * i + b];
#define OUT(i, sum) s[8 * i + b] = (sum) ^ keys[128 * round + 8 * i + b]
		word p = x[4] ^ x[6], q = x[5] ^ x[7], r = x[8] ^ x[9], t = x[10] ^ x[11], u = x[12] ^ x[15], v = x[13] ^ x[14];
		OUT(0, x[3] ^ p ^ r ^ v);
		OUT(1, x[2] ^ q ^ r ^ u);
		OUT(2, x[1] ^ p ^ t ^ u);
		OUT(3, x[0] ^ q ^ t ^ v);
		p = x[0] ^ x[2], q = x[1] ^ x[3], r = x[8] ^ x[11], t = x[9] ^ x[10], u = x[12] ^ x[13], v = x[14] ^ x[15];
		OUT(4, x[5] ^ p ^ r ^ v);
		OUT(5, x[4] ^ q ^ t ^ v);
		OUT(6, x[7] ^ p ^ t ^ u);
		OUT(7, x[6] ^ q ^ r ^ u);
		p = x[0] ^ x[1], q = x[2] ^ x[3], r = x[4] ^ x[7], t = x[5] ^ x[6], u = x[13] ^ x[15], v = x[12] ^ x[14];
		OUT(8, x[10] ^ p ^ r ^ u);
		OUT(9, x[11] ^ p ^ t ^ v);
		OUT(10, x[8] ^ q ^ t ^ u);
		OUT(11, x[9] ^ q ^ r ^ v);
		p = x[1] ^ x[2], q = x[0] ^ x[3], r = x[6] ^ x[7], t = x[4] ^ x[5], u = x[9] ^ x[11], v = x[8] ^ x[10];
		OUT(12, x[12] ^ p ^ r ^ u);
		OUT(13, x[13] ^ q ^ r ^ v);
		OUT(14, x[14] ^ q ^ t ^ u);
		OUT(15, x[15] ^ p ^ t ^ v);
	}
}

/* All rounds, on blocks to which the first round key was added. */
INLINE void rounds(word *s KEYS)
{
	ONE_BY_ONE for (int round = 1; round < CIPHER_ROUNDS - 1; round += 2) {
		substitute(s, 1);
		diffuse(s, round PASS_KEYS);
		substitute(s, 0);
		diffuse(s, round + 1 PASS_KEYS);
	}
	substitute(s, 1);
	diffuse(s, CIPHER_ROUNDS - 1 PASS_KEYS);
	substitute(s, 0);
	add_key(s, CIPHER_ROUNDS PASS_KEYS);
}
