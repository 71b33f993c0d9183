/* Counter mode over blocks of 8 bytes, in tiles of 256 blocks as over 16. */

/* XORs `tiles` tiles of `data` with the key stream from the counter block high, low on: a multiple of 256. */
KERNEL(ctr)(GLOBAL unit *data, word64 high, word64 low, word tiles KEYS)
{
	word thread = THREAD, tile = thread >> 3, lane = thread & 7;
	if (tile >= tiles) return;
	word64 counter = low + ((word64)tile << 8) + (lane << 1);
	word first[2];
	first[0] = (word)(counter >> 32) ^ keys[FIRST_KEY];
	first[1] = (word)counter ^ keys[FIRST_KEY + 1];
	word s[64];
	UNROLL for (int b = 0; b < 64; b++) s[b] = SPREAD(first[b >> 5], 24 - (b & 24) + (b & 7));
	s[56] ^= NUMBER_0;
	s[60] ^= NUMBER_1;
	s[61] ^= NUMBER_2;
	s[62] ^= NUMBER_3;
	s[63] ^= NUMBER_4;
	rounds(s PASS_KEYS);
	transpose(s);
	transpose(s + 32);
	/* blocks 2 i and 2 i + 1 of a thread lie side by side */
	data += (word64)tile * 128 + lane;
	UNROLL for (int i = 0; i < 16; i++) {
		unit text = data[8 * i];
		data[8 * i] = UNIT(text.x ^ s[2 * i], text.y ^ s[32 + 2 * i], text.z ^ s[2 * i + 1], text.w ^ s[33 + 2 * i]);
	}
}
