/* One C for CUDA (compiled by NVRTC) and OpenCL 1.2: what a kernel file may use beyond plain C.
 *
 * A thread holds 32 blocks: one 32-bit word for each bit of a block, whose bit j belongs to the thread's block j.
 *
 * Before this text stand `#define`s: CIPHER_ROUNDS, BLOCK_BYTES, KEY_WORDS and what else the row of the table of kernels
 * says; ROLLED where loops stay loops. After it: one cipher, which has `add_key` and `rounds`, and one mode. */

/* Threads in a group. */
#define THREADS 128

#ifdef __OPENCL_VERSION__
typedef uint word;
typedef ulong word64;
typedef uint4 unit;
typedef uint2 pair;
typedef uchar byte;
typedef ushort numeral;
#define UNIT(a, b, c, d) ((uint4)(a, b, c, d))
#define PAIR(a, b) ((uint2)(a, b))
#define INLINE static inline
#ifdef ROLLED
#define UNROLL
#else
#define UNROLL _Pragma("unroll")
#endif
#define ONE_BY_ONE _Pragma("unroll 1")
#define KERNEL(name) __kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void name
#define GLOBAL __global
/* The round keys: an argument here, a symbol of the module there. */
#define KEYS , __constant const uint *keys
#define PASS_KEYS , keys
#define THREAD ((word)get_global_id(0))
#define THREAD_AGAIN THREAD
#define LOW_HALVES(a, b) (((a) & 0x0000ffffu) | ((b) << 16))
#define HIGH_HALVES(a, b) (((a) >> 16) | ((b) & 0xffff0000u))
#define EVEN_BYTES(a, b) (((a) & 0x00ff00ffu) | (((b) & 0x00ff00ffu) << 8))
#define ODD_BYTES(a, b) ((((a) >> 8) & 0x00ff00ffu) | ((b) & 0xff00ff00u))
/* The bytes of a word turned round, and the upper half of a product of 64 bits. */
#define TURNED(a) (as_uint(as_uchar4((uint)(a)).wzyx))
#define UPPER_PRODUCT(a, b) mul_hi((ulong)(a), (ulong)(b))
#define XOR(a, b, c) ((a) ^ (b) ^ (c))
#define XNOR(a, b, c) (~((a) ^ (b) ^ (c)))
#define XOR_AND(a, b, c) ((a) ^ ((b) & (c)))
#define XOR_OR(a, b, c) ((a) ^ ((b) | (c)))
#else
typedef unsigned int word;
typedef unsigned long long word64;
typedef uint4 unit;
typedef uint2 pair;
typedef unsigned char byte;
typedef unsigned short numeral;
#define UNIT(a, b, c, d) make_uint4(a, b, c, d)
#define PAIR(a, b) make_uint2(a, b)
#define INLINE static __device__ __forceinline__
#define UNROLL _Pragma("unroll")
#define ONE_BY_ONE _Pragma("unroll 1")
#define KERNEL(name) extern "C" __global__ void __launch_bounds__(THREADS, GROUPS) name
#define GLOBAL
#define KEYS
#define PASS_KEYS
#define THREAD (blockIdx.x * THREADS + threadIdx.x)
/* The same, asked for again: nothing that follows from it is kept in registers until then. */
#define THREAD_AGAIN thread_again()
INLINE unsigned int thread_again()
{
	unsigned int group, thread;
	asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(group));
	asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
	return group * THREADS + thread;
}
#define LOW_HALVES(a, b) __byte_perm(a, b, 0x5410)
#define HIGH_HALVES(a, b) __byte_perm(a, b, 0x7632)
#define EVEN_BYTES(a, b) __byte_perm(a, b, 0x6240)
#define ODD_BYTES(a, b) __byte_perm(a, b, 0x7351)
#define TURNED(a) __byte_perm((word)(a), 0, 0x0123)
#define UPPER_PRODUCT(a, b) __umul64hi(a, b)
/* Any function of three bits is one instruction; the compiler finds fewer of them than the paper's formulas allow. */
template <int table> INLINE word logic(word a, word b, word c)
{
	word y;
	asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(y) : "r"(a), "r"(b), "r"(c), "n"(table));
	return y;
}
#define XOR(a, b, c) logic<0x96>(a, b, c)
#define XNOR(a, b, c) logic<0x69>(a, b, c)
#define XOR_AND(a, b, c) logic<0x78>(a, b, c)
#define XOR_OR(a, b, c) logic<0x1e>(a, b, c)
__constant__ word keys[KEY_WORDS];
#endif

/* All bits of a word equal to bit `bit` of x. */
#define SPREAD(x, bit) ((word)((int)((x) << (31 - (bit))) >> 31))

/* What bit i of the number of a block within its thread is, for all 32 blocks. */
#define NUMBER_0 0xaaaaaaaau
#define NUMBER_1 0xccccccccu
#define NUMBER_2 0xf0f0f0f0u
#define NUMBER_3 0xff00ff00u
#define NUMBER_4 0xffff0000u

/* Bits of each of 32 blocks from bits of the same place in all of them: bit i of word j becomes bit j of word i. */
INLINE void transpose(word *x)
{
	UNROLL for (int i = 0; i < 16; i++) {
		word a = x[i], b = x[i + 16];
		x[i] = LOW_HALVES(a, b);
		x[i + 16] = HIGH_HALVES(a, b);
	}
	UNROLL for (int i = 0; i < 32; i++) {
		if (i & 8) continue;
		word a = x[i], b = x[i + 8];
		x[i] = EVEN_BYTES(a, b);
		x[i + 8] = ODD_BYTES(a, b);
	}
	UNROLL for (int i = 0; i < 32; i++) {
		if (i & 4) continue;
		word a = x[i], b = x[i + 4];
		x[i] = (a & 0x0f0f0f0fu) | ((b << 4) & 0xf0f0f0f0u);
		x[i + 4] = ((a >> 4) & 0x0f0f0f0fu) | (b & 0xf0f0f0f0u);
	}
	UNROLL for (int i = 0; i < 32; i++) {
		if (i & 2) continue;
		word a = x[i], b = x[i + 2];
		x[i] = (a & 0x33333333u) | ((b << 2) & 0xccccccccu);
		x[i + 2] = ((a >> 2) & 0x33333333u) | (b & 0xccccccccu);
	}
	UNROLL for (int i = 0; i < 32; i += 2) {
		word a = x[i], b = x[i + 1];
		x[i] = (a & 0x55555555u) | ((b << 1) & 0xaaaaaaaau);
		x[i + 1] = ((a >> 1) & 0x55555555u) | (b & 0xaaaaaaaau);
	}
}
