/* PIPO-64/128 and 64/256 (Kim et al., ICISC 2020), bitsliced: s[8 r + c] is bit c of byte X[r].
 *
 * The R-layer renames words and costs nothing. A round key is one of KEY_PERIOD words of the key in turn and the number
 * of the round: keys has 64 masks for each word of the key, then the first word, as two big-endian halves. */

/* Where the first round key stands as two big-endian words. */
#define FIRST_KEY (64 * KEY_PERIOD)

/* The S-layer (paper, figure 3) on column c, the R-layer and the key of round i: in functions of three bits. */
INLINE void round_of_column(word *next, const word *s, const int c, const int i KEYS)
{
	word x0 = s[c], x1 = s[8 + c], x2 = s[16 + c], x3 = s[24 + c];
	word x4 = s[32 + c], x5 = s[40 + c], x6 = s[48 + c], x7 = s[56 + c];
	/* S5_1, whose x7 ^ x4 is left to those who need it */
	x5 = XOR_AND(x5, x7, x6);
	x4 = XOR_AND(x4, x3, x5);
	x6 ^= x3;
	x3 = XOR_OR(x3, x4, x5);
	x5 = XOR(x5, x7, x4);
	word y4 = XOR_AND(x4, x5, x6);
	/* S3, whose x2 is to be complemented */
	x2 = XOR_AND(x2, x1, x0);
	x0 = XOR_OR(x0, x2, x1);
	x1 = XOR_OR(x1, x2, x0);
	/* what joins them */
	x7 = XOR(x7, x4, x1);
	x3 = XNOR(x3, x2, 0);
	x4 = y4 ^ x0;
	/* S5_2 */
	word y6 = XOR_AND(x6, x7, x5);
	word t0 = x7 ^ y6;
	word y3 = XOR_OR(y6, x4, x3);
	word t1 = x3 ^ x5;
	word t2 = XOR_AND(x4, t1, t0);
	/* X[r] turns left by 0, 7, 4, 3, 6, 5, 1, 2 bits */
#define KEY(r, turn) keys[64 * (i % KEY_PERIOD) + 8 * r + ((c + turn) & 7)]
#define NEXT(r, turn) next[8 * r + ((c + turn) & 7)]
	NEXT(0, 0) = (i >> c & 1) ? ~(x7 ^ KEY(0, 0)) : x7 ^ KEY(0, 0);
	NEXT(1, 7) = XOR(x0, t1, KEY(1, 7));
	NEXT(2, 4) = XNOR(x2, t0, KEY(2, 4));
	NEXT(3, 3) = y3 ^ KEY(3, 3);
	NEXT(4, 6) = XOR_OR(x5, y3, x4) ^ KEY(4, 6);
	NEXT(5, 5) = x4 ^ KEY(5, 5);
	NEXT(6, 1) = x3 ^ KEY(6, 1);
	NEXT(7, 2) = XOR(x1, t2, KEY(7, 2));
}

INLINE void add_key(word *s, int round KEYS)
{
	UNROLL for (int b = 0; b < 64; b++) s[b] ^= keys[64 * (round % KEY_PERIOD) + b];
}

/* All rounds, on blocks to which the first round key was added. */
INLINE void rounds(word *s KEYS)
{
	word next[64];
	UNROLL for (int i = 1; i <= CIPHER_ROUNDS; i++) {
		UNROLL for (int c = 0; c < 8; c++) round_of_column(next, s, c, i PASS_KEYS);
		UNROLL for (int b = 0; b < 64; b++) s[b] = next[b];
	}
}
