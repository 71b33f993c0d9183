/* Counter mode over blocks of 16 bytes. Eight threads share a tile of 256 blocks, so that the low byte of the counter comes
 * from the place in the tile and all else is the same for a tile, and so that neighbours touch neighbouring 16 bytes of
 * memory. */

#define WHITENING (128 * (CIPHER_ROUNDS + 1))

/* The bits of this thread's counter blocks with the first round key added. */
INLINE void counters(word *s, word64 high, word64 low, word tile, word lane KEYS)
{
	word64 added = (word64)tile << 8;
	low += added;
	high += low < added;
	low += lane;
	word first[4];
	first[0] = (word)(high >> 32) ^ keys[WHITENING];
	first[1] = (word)high ^ keys[WHITENING + 1];
	first[2] = (word)(low >> 32) ^ keys[WHITENING + 2];
	first[3] = (word)low ^ keys[WHITENING + 3];
	UNROLL for (int b = 0; b < 128; b++) s[b] = SPREAD(first[b >> 5], 24 - (b & 24) + (b & 7));
	s[123] ^= NUMBER_0;
	s[124] ^= NUMBER_1;
	s[125] ^= NUMBER_2;
	s[126] ^= NUMBER_3;
	s[127] ^= NUMBER_4;
}

INLINE void xor_into(GLOBAL unit *data, word *s, word tile, word lane)
{
	UNROLL for (int w = 0; w < 4; w++) transpose(s + 32 * w);
	data += (word64)tile * 256 + lane;
	UNROLL for (int j = 0; j < 32; j++) {
		unit text = data[8 * j];
		data[8 * j] = UNIT(text.x ^ s[j], text.y ^ s[32 + j], text.z ^ s[64 + j], text.w ^ s[96 + j]);
	}
}

/* XORs `tiles` tiles of `data` with the key stream from the counter block high, low on: a multiple of 256. */
KERNEL(ctr)(GLOBAL unit *data, word64 high, word64 low, word tiles KEYS)
{
	word thread = THREAD, tile = thread >> 3, lane = thread & 7;
	if (tile >= tiles) return;
	word s[128];
	counters(s, high, low, tile, lane PASS_KEYS);
	rounds(s PASS_KEYS);
	xor_into(data, s, tile, lane);
}
