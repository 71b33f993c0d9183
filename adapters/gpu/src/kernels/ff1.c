/* FF1 (SP 800-38G) on many values side by side: numerals to numbers, all ten rounds, and numbers to numerals, in one run.
 * Over blocks of 8 bytes it is the construction of vectors/pipo-ff1.txt.
 *
 * A thread has 32 values, number j of which is 32 j behind its first one; 32 threads share a tile of 1024 values, so that
 * neighbours touch neighbouring memory. Between the steps values stay in the device's memory: the two halves as numbers,
 * and the block that a round encrypts. Where a batch ends within a tile the rest of the tile is computed for nothing.
 *
 * No branch, no address and no division depends on a value: all that is compared is radix, lengths and numbers of rounds.
 * Quotients are estimated by a product with an inverse that was rounded down, and what is left over is subtracted by
 * masks, as crates/cipher/src/mode/ff1_value/reduction.rs does. */

typedef struct { word64 low, high; } number;

/* A half of all values. Inverses are 2^64, for LONG 2^96, and where numbers are wide 2^128 over the modulus. */
typedef struct {
	word64 modulus_low, modulus_high, inverse_low, inverse_high;
	/* where its numbers are, in bytes */
	word64 at;
	word numerals, estimate;
} half_shape;

/* How the 64 (SHORT) or 96 bits that a round takes are reduced by a modulus of at most 60 bits: by at most 2^32 (SHORT,
 * TWICE: the remainder of the first 64 bits, and that of it and the rest) or by more (LONG). */
#define SHORT 0
#define TWICE 1

/* What is the same for all values; `Shape` of ff1_shape.rs has the same fields. */
typedef struct {
	half_shape left, right;
	/* the largest power of the radix up to 2^60, 2^128 over it, and 2^64 over the radix */
	word64 power, power_inverse_low, power_inverse_high, radix_inverse;
	/* where blocks, bases and tweaks are, in bytes */
	word64 blocks_at, bases_at, tweaks_at;
	/* the state after all that is the same for all values: before the numbers, or before the tweaks of each */
	word base[4];
	/* numerals of that power, bytes of a number, bytes that a round takes */
	word radix, power_numerals, number_bytes, round_bytes;
	/* whether numbers have more than 60 bits, whether each value has a tweak, blocks of a tweak that are encrypted */
	word wide, each, tweak_blocks;
	word seal, tiles, not_used;
} ff1_shape;

INLINE number of_parts(word64 high, word64 low)
{
	number n;
	n.low = low;
	n.high = high;
	return n;
}

INLINE number sum(number a, number b)
{
	word64 low = a.low + b.low;
	return of_parts(a.high + b.high + (low < a.low), low);
}

INLINE number difference(number a, number b)
{
	return of_parts(a.high - b.high - (a.low < b.low), a.low - b.low);
}

/* The lower 128 bits of a product. */
INLINE number product(number a, number b)
{
	return of_parts(UPPER_PRODUCT(a.low, b.low) + a.high * b.low + a.low * b.high, a.low * b.low);
}

/* The upper 128 bits of a product. */
INLINE number upper_product(number a, number b)
{
	word64 cross_a = a.high * b.low, cross_b = a.low * b.high;
	word64 middle = UPPER_PRODUCT(a.low, b.low) + cross_a;
	word64 carries = middle < cross_a;
	middle += cross_b;
	carries += middle < cross_b;
	number upper = of_parts(UPPER_PRODUCT(a.high, b.high), a.high * b.high);
	upper = sum(upper, of_parts(0, carries));
	upper = sum(upper, of_parts(0, UPPER_PRODUCT(a.high, b.low)));
	return sum(upper, of_parts(0, UPPER_PRODUCT(a.low, b.high)));
}

/* x - m, or x where that is below 0; both are below 2^63, or 2^127. */
INLINE word64 reduced(word64 x, word64 m)
{
	word64 less = x - m, stays = 0 - (less >> 63);
	return (x & stays) | (less & ~stays);
}

INLINE number reduced_wide(number x, number m)
{
	number less = difference(x, m);
	word64 stays = 0 - (less.high >> 63);
	return of_parts((x.high & stays) | (less.high & ~stays), (x.low & stays) | (less.low & ~stays));
}

INLINE number of_numerals(GLOBAL const numeral *numerals, word count, word radix)
{
	number n = of_parts(0, 0);
	ONE_BY_ONE for (word i = 0; i < count; i++) {
		number times = of_parts(n.high * radix + UPPER_PRODUCT(n.low, radix), n.low * radix);
		n = sum(times, of_parts(0, numerals[i]));
	}
	return n;
}

/* Writes the numerals of n, below 2^61. */
INLINE void to_numerals(word64 n, GLOBAL numeral *numerals, word count, word radix, word64 inverse)
{
	ONE_BY_ONE for (word i = count; i > 0; i--) {
		/* at most one too small */
		word64 quotient = UPPER_PRODUCT(n, inverse);
		word64 rest = n - quotient * radix, less = rest - radix, stays = 0 - (less >> 63);
		numerals[i - 1] = (numeral)((rest & stays) | (less & ~stays));
		n = quotient + 1 + stays;
	}
}

/* Writes the numerals of n, below 2^97: those of the quotient by the power of the radix, and those of the remainder. */
INLINE void to_numerals_wide(number n, GLOBAL numeral *numerals, word count, const ff1_shape *shape)
{
	word64 upper = 0, rest = n.low;
	word rest_numerals = count;
	if (shape->wide) {
		number inverse = of_parts(shape->power_inverse_high, shape->power_inverse_low);
		/* at most one too small */
		word64 quotient = upper_product(n, inverse).low;
		rest = n.low - quotient * shape->power;
		word64 less = rest - shape->power, stays = 0 - (less >> 63);
		rest = (rest & stays) | (less & ~stays);
		upper = quotient + 1 + stays;
		if (count > shape->power_numerals) rest_numerals = shape->power_numerals;
	}
	word upper_numerals = count - rest_numerals;
	to_numerals(upper, numerals, upper_numerals, shape->radix, shape->radix_inverse);
	to_numerals(rest, numerals + upper_numerals, rest_numerals, shape->radix, shape->radix_inverse);
}

/* n, below the modulus of its half, plus or minus what a round takes: the first bytes of high and low. */
INLINE number turn(number n, const half_shape *side, const ff1_shape *shape, word64 high, word64 low)
{
	if (shape->wide) {
		number modulus = of_parts(side->modulus_high, side->modulus_low), taken = of_parts(high, low);
		if (shape->round_bytes == 12) taken = of_parts(high >> 32, (high << 32) | (low >> 32));
		/* at most one too small */
		number quotient = upper_product(taken, of_parts(side->inverse_high, side->inverse_low));
		number rest = difference(taken, product(quotient, modulus)), twice = sum(modulus, modulus);
		n = sum(n, shape->seal ? rest : difference(twice, rest));
		return reduced_wide(reduced_wide(n, twice), modulus);
	}
	word64 modulus = side->modulus_low, inverse = side->inverse_low, rest;
	if (side->estimate == SHORT || side->estimate == TWICE) {
		/* below twice the modulus */
		rest = high - UPPER_PRODUCT(high, inverse) * modulus;
		if (side->estimate == TWICE) {
			high = (reduced(rest, modulus) << 32) | (low >> 32);
			rest = high - UPPER_PRODUCT(high, inverse) * modulus;
		}
	} else {
		/* below three times the modulus */
		rest = ((high << 32) | (low >> 32)) - UPPER_PRODUCT(high, inverse) * modulus;
	}
	rest = n.low + (shape->seal ? rest : 3 * modulus - rest);
	return of_parts(0, reduced(reduced(rest, 2 * modulus), modulus));
}

/* What a block is added to as it goes into a round: its place for the number of the round, too. */
#define UPPER 0
#define LOWER 1
#define MORE 2

/* A round's input block: `base` and, behind it, the round's number and that of a half. Over blocks of 8 bytes the upper 8
 * of those 16 bytes (UPPER), the lower ones (LOWER), or what stretches the result, which goes to the other half of the
 * unit (MORE). */
INLINE unit filled(unit base, unit block, number n, word round, word kind, const ff1_shape *shape)
{
	word64 high = n.high, low = n.low;
	if (shape->number_bytes < 8) low ^= (word64)round << (8 * shape->number_bytes);
	else high ^= (word64)round << (8 * shape->number_bytes - 64);
#if BLOCK_BYTES == 16
	return UNIT(base.x ^ TURNED(high >> 32), base.y ^ TURNED(high), base.z ^ TURNED(low >> 32), base.w ^ TURNED(low));
#else
	if (kind == MORE) return UNIT(block.x, block.y ^ 0x01000000u, block.x, block.y);
	if (kind == UPPER) return UNIT(base.x ^ TURNED(high >> 32), base.y ^ TURNED(high), 0, 0);
	if (shape->number_bytes >= 8) base = block;
	return UNIT(base.x ^ TURNED(low >> 32), base.y ^ TURNED(low), 0, 0);
#endif
}

/* Where a thread's first value and what belongs to it are; the others are 32 further each. */
typedef struct {
	GLOBAL numeral *numerals;
	GLOBAL word64 *left, *right;
	GLOBAL unit *blocks, *bases;
	GLOBAL const word *tweaks;
	/* of all threads */
	word64 values;
	/* numerals of a value, and words of its tweak */
	word length, tweak_words;
} places;

#define WORDS_OF_BLOCK (BLOCK_BYTES / 4)

INLINE places places_of(GLOBAL byte *data, const ff1_shape *shape)
{
	word thread = THREAD_AGAIN;
	word64 first = ((word64)(thread >> 5) << 10) + (thread & 31);
	places p;
	p.values = (word64)shape->tiles << 10;
	p.length = shape->left.numerals + shape->right.numerals;
	p.tweak_words = (shape->tweak_blocks + 1) * WORDS_OF_BLOCK;
	p.numerals = (GLOBAL numeral *)data + first * p.length;
	p.left = (GLOBAL word64 *)(data + shape->left.at) + first;
	p.right = (GLOBAL word64 *)(data + shape->right.at) + first;
	p.blocks = (GLOBAL unit *)(data + shape->blocks_at) + first;
	p.bases = (GLOBAL unit *)(data + shape->bases_at) + first;
	p.tweaks = (GLOBAL const word *)(data + shape->tweaks_at) + first * p.tweak_words;
	return p;
}

/* Encrypts the thread's bases or blocks. */
INLINE void encrypt(GLOBAL byte *data, const word of_tweaks, const ff1_shape *shape KEYS)
{
	word s[8 * BLOCK_BYTES];
	places p = places_of(data, shape);
	GLOBAL unit *blocks = of_tweaks ? p.bases : p.blocks;
#if BLOCK_BYTES == 16
	UNROLL for (int j = 0; j < 32; j++) {
		unit block = blocks[32 * j];
		s[j] = block.x, s[32 + j] = block.y, s[64 + j] = block.z, s[96 + j] = block.w;
	}
#else
	GLOBAL pair *pairs = (GLOBAL pair *)blocks;
	UNROLL for (int j = 0; j < 32; j++) {
		pair block = pairs[64 * j];
		s[j] = block.x, s[32 + j] = block.y;
	}
#endif
	UNROLL for (int w = 0; w < BLOCK_BYTES / 4; w++) transpose(s + 32 * w);
	add_key(s, 0 PASS_KEYS);
	rounds(s PASS_KEYS);
	UNROLL for (int w = 0; w < BLOCK_BYTES / 4; w++) transpose(s + 32 * w);
	p = places_of(data, shape);
	blocks = of_tweaks ? p.bases : p.blocks;
#if BLOCK_BYTES == 16
	UNROLL for (int j = 0; j < 32; j++) blocks[32 * j] = UNIT(s[j], s[32 + j], s[64 + j], s[96 + j]);
#else
	pairs = (GLOBAL pair *)blocks;
	UNROLL for (int j = 0; j < 32; j++) pairs[64 * j] = PAIR(s[j], s[32 + j]);
#endif
}

INLINE number load(GLOBAL const word64 *numbers, word64 values, const ff1_shape *shape)
{
	return of_parts(shape->wide ? numbers[values] : 0, numbers[0]);
}

INLINE void store(GLOBAL word64 *numbers, number n, word64 values, const ff1_shape *shape)
{
	numbers[0] = n.low;
	if (shape->wide) numbers[values] = n.high;
}

/* `state` and a block of a value's tweak. */
INLINE unit with_tweak(unit state, GLOBAL const word *tweak)
{
#if BLOCK_BYTES == 16
	return UNIT(state.x ^ tweak[0], state.y ^ tweak[1], state.z ^ tweak[2], state.w ^ tweak[3]);
#else
	return UNIT(state.x ^ tweak[0], state.y ^ tweak[1], 0, 0);
#endif
}

INLINE unit common_base(const ff1_shape *shape)
{
	return UNIT(shape->base[0], shape->base[1], shape->base[2], shape->base[3]);
}

/* Numbers of the numerals, and the first block of each tweak. */
INLINE void begin(GLOBAL byte *data, const ff1_shape *shape)
{
	const places p = places_of(data, shape);
	ONE_BY_ONE for (int j = 0; j < 32; j++) {
		GLOBAL const numeral *value = p.numerals + 32 * j * p.length;
		store(p.left + 32 * j, of_numerals(value, shape->left.numerals, shape->radix), p.values, shape);
		value += shape->left.numerals;
		store(p.right + 32 * j, of_numerals(value, shape->right.numerals, shape->radix), p.values, shape);
		if (shape->each) p.bases[32 * j] = with_tweak(common_base(shape), p.tweaks + 32 * j * p.tweak_words);
	}
}

/* Adds block `number` of each tweak to what the blocks before it became. */
INLINE void absorb(GLOBAL byte *data, word number, const ff1_shape *shape)
{
	const places p = places_of(data, shape);
	ONE_BY_ONE for (int j = 0; j < 32; j++) {
		GLOBAL const word *tweak = p.tweaks + 32 * j * p.tweak_words + number * WORDS_OF_BLOCK;
		p.bases[32 * j] = with_tweak(p.bases[32 * j], tweak);
	}
}

INLINE void fill(GLOBAL byte *data, word round, word kind, const ff1_shape *shape)
{
	const places p = places_of(data, shape);
	GLOBAL const word64 *other = round & 1 ? p.left : p.right;
	ONE_BY_ONE for (int j = 0; j < 32; j++) {
		unit base = shape->each ? p.bases[32 * j] : common_base(shape);
		unit block = BLOCK_BYTES == 8 ? p.blocks[32 * j] : base;
		p.blocks[32 * j] = filled(base, block, load(other + 32 * j, p.values, shape), round, kind, shape);
	}
}

INLINE void take(GLOBAL byte *data, word round, word kind, const ff1_shape *shape)
{
	const places p = places_of(data, shape);
	GLOBAL word64 *changed = round & 1 ? p.right : p.left;
	const half_shape side = round & 1 ? shape->right : shape->left;
	ONE_BY_ONE for (int j = 0; j < 32; j++) {
		unit block = p.blocks[32 * j];
		word64 high = (word64)TURNED(block.x) << 32 | TURNED(block.y);
		word64 low = (word64)TURNED(block.z) << 32 | TURNED(block.w);
		/* behind what stretches it stands the result */
		const int stretched = BLOCK_BYTES == 8 && kind == MORE;
		number n = load(changed + 32 * j, p.values, shape);
		n = turn(n, &side, shape, stretched ? low : high, stretched ? high : low);
		store(changed + 32 * j, n, p.values, shape);
	}
}

/* Numerals of the numbers. */
INLINE void end(GLOBAL byte *data, const ff1_shape *shape)
{
	const places p = places_of(data, shape);
	ONE_BY_ONE for (int j = 0; j < 32; j++) {
		GLOBAL numeral *value = p.numerals + 32 * j * p.length;
		to_numerals_wide(load(p.left + 32 * j, p.values, shape), value, shape->left.numerals, shape);
		value += shape->left.numerals;
		to_numerals_wide(load(p.right + 32 * j, p.values, shape), value, shape->right.numerals, shape);
	}
}

/* Seals or opens the values whose numerals stand at the beginning of `data`: `tiles` tiles of them. */
KERNEL(ff1)(GLOBAL byte *data, const ff1_shape given KEYS)
{
	const ff1_shape *shape = &given;
	if (THREAD >> 5 >= shape->tiles) return;
	begin(data, shape);
	/* The blocks of tweaks that are encrypted, and then each round in one to three steps. */
	const word kind_first = BLOCK_BYTES == 8 && shape->number_bytes >= 8 ? UPPER : LOWER;
	const word kind_last = BLOCK_BYTES == 8 && shape->round_bytes > 8 ? MORE : LOWER;
	const word steps_of_round = kind_last - kind_first + 1, steps = shape->tweak_blocks + 10 * steps_of_round;
	ONE_BY_ONE for (word step = 0; step < steps; step++) {
		const word of_tweaks = step < shape->tweak_blocks;
		const word turn = (step - shape->tweak_blocks) / steps_of_round, round = shape->seal ? turn : 9 - turn;
		const word kind = kind_first + (step - shape->tweak_blocks) % steps_of_round;
		if (!of_tweaks) fill(data, round, kind, shape);
		encrypt(data, of_tweaks, shape PASS_KEYS);
		if (of_tweaks) absorb(data, step + 1, shape);
		else if (kind == kind_last) take(data, round, kind, shape);
	}
	end(data, shape);
}
