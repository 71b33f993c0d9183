"""What the package cryptography lacks: CRC-32C, BLAKE3 of at most 1,024 bytes, HPKE with a pre-shared key, one
handshake of Noise, HCTR2 and CBC-CS1. Each but HPKE, which key-format-3.key proves, is compared with a published value. For
examples-v1.py, and for nothing that must stay secret.
"""
import hashlib, hmac, struct
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, modes
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.ciphers.algorithms import AES

def u16(n):
    return struct.pack(">H", n)

def crc32c(value):
    crc = 0xFFFFFFFF
    for byte in value:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF

# RFC 3720, B.4, and the check value of every catalogue of CRCs
assert crc32c(bytes(32)) == 0x8A9136AA and crc32c(b"123456789") == 0xE3069283

# BLAKE3

IV = [0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19]
ORDER = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8]
QUARTERS = [(0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
            (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)]

def compressed(chaining, words, length, flags):
    v, words = chaining + IV[:4] + [0, 0, length, flags], list(words)
    turned = lambda x, n: x >> n | x << 32 - n & 0xFFFFFFFF
    for _ in range(7):
        for at, (a, b, c, d) in enumerate(QUARTERS):
            for word, first, second in [(words[2 * at], 16, 12), (words[2 * at + 1], 8, 7)]:
                v[a] = v[a] + v[b] + word & 0xFFFFFFFF
                v[d] = turned(v[d] ^ v[a], first)
                v[c] = v[c] + v[d] & 0xFFFFFFFF
                v[b] = turned(v[b] ^ v[c], second)
        words = [words[place] for place in ORDER]
    return [v[at] ^ v[at + 8] for at in range(8)]

def blake3(value, chaining=IV, flags=0):
    assert len(value) <= 1024
    pieces = [value[at:at + 64] for at in range(0, max(len(value), 1), 64)]
    for at, piece in enumerate(pieces):
        more = (1 if at == 0 else 0) | (2 | 8 if at == len(pieces) - 1 else 0)
        chaining = compressed(chaining, struct.unpack("<16I", piece.ljust(64, b"\0")), len(piece), flags | more)
    return struct.pack("<8I", *chaining)

def keyed_blake3(key, value):
    return blake3(value, list(struct.unpack("<8I", key)), 16)

def blake3_key(context, value):
    return blake3(value, list(struct.unpack("<8I", blake3(context, IV, 32))), 64)

assert blake3(b"").hex() == "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"

# HPKE

def labeled_extract(suite, salt, label, value):
    return hmac.digest(salt, b"HPKE-v1" + suite + label + value, "sha256")

def labeled_expand(suite, secret, label, info, length):
    info, output, last = u16(length) + b"HPKE-v1" + suite + label + info, b"", b""
    while len(output) < length:
        last = hmac.digest(secret, last + info + bytes([len(output) // 32 + 1]), "sha256")
        output += last
    return output[:length]

def hpke(private, encapsulated, psk, psk_id, info):
    """RFC 9180: shared secret, key and nonce of DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-256-GCM, mode PSK."""
    own, kem = X25519PrivateKey.from_private_bytes(private), b"KEM" + u16(0x20)
    suite = b"HPKE" + u16(0x20) + u16(1) + u16(2)
    shared = labeled_extract(kem, b"", b"eae_prk", own.exchange(X25519PublicKey.from_public_bytes(encapsulated)))
    both = encapsulated + own.public_key().public_bytes_raw()
    shared = labeled_expand(kem, shared, b"shared_secret", both, 32)
    context = b"\x01" + labeled_extract(suite, b"", b"psk_id_hash", psk_id) + labeled_extract(suite, b"", b"info_hash", info)
    secret = labeled_extract(suite, shared, b"secret", psk)
    key, nonce = (labeled_expand(suite, secret, label, context, n) for label, n in [(b"key", 32), (b"base_nonce", 12)])
    return shared, key, nonce

# Noise

class Noise:
    """The state of Noise_NNpsk0_25519_ChaChaPoly_SHA256 (revision 34), which is that of both sides."""
    def __init__(self, prologue, psk):
        self.hash = self.chain = hashlib.sha256(b"Noise_NNpsk0_25519_ChaChaPoly_SHA256").digest()
        self.mixed(prologue)
        temporary, key = self.derived(psk, 3)[1:]
        self.mixed(temporary)
        self.key, self.count = key, 0

    def mixed(self, value):
        self.hash = hashlib.sha256(self.hash + value).digest()

    def derived(self, secret, count):
        temporary, last, found = hmac.digest(self.chain, secret, "sha256"), b"", []
        for at in range(count):
            last = hmac.digest(temporary, last + bytes([at + 1]), "sha256")
            found.append(last)
        self.chain = found[0]
        return found

    def key_of(self, secret):
        self.key, self.count = self.derived(secret, 2)[1], 0

    def sealed(self, public, payload, shared=None):
        self.mixed(public)
        self.key_of(public)
        if shared:
            self.key_of(shared)
        sealed = ChaCha20Poly1305(self.key).encrypt(bytes(4) + struct.pack("<Q", self.count), payload, self.hash)
        self.mixed(sealed)
        return public + sealed

    def split(self):
        return self.derived(b"", 2)

def handshake(prologue, psk, secrets, payloads):
    """Both messages of a handshake of which both private keys are known, its hash, and the two secrets it splits."""
    first, second = map(X25519PrivateKey.from_private_bytes, secrets)
    noise = Noise(prologue, psk)
    messages = [noise.sealed(first.public_key().public_bytes_raw(), payloads[0])]
    shared = first.exchange(second.public_key())
    messages.append(noise.sealed(second.public_key().public_bytes_raw(), payloads[1], shared))
    return messages, noise.hash, noise.split()

# the test vector of that name from cacophony, in the tests of the crate snow
_, published, _ = handshake(b"John Galt", b"This is my Austrian perspective!", [
    bytes.fromhex("893e28b9dc6ca8d611ab664754b8ceb7bac5117349a4439a6b0569da977c464a"),
    bytes.fromhex("bbdb4cdbd309f1a1f2e1456967fe288cadd6f712d65dc7b7793d5e63da6b375b"),
], [b"Ludwig von Mises", b"Murray Rothbard"])
assert published.hex() == "f4d03dc34495c95729ea6de9e1b59004b59733102488b3e24bc441e0be208eaf"

# HCTR2 over AES (Crowley, Huckleberry, Biggers 2021), with the hash of RFC 8452

MODULUS = 1 << 128 | 1 << 127 | 1 << 126 | 1 << 121 | 1
# x to the power of -128
SHRUNK = 1 << 127 | 1 << 124 | 1 << 121 | 1 << 114 | 1
from_little = lambda block: int.from_bytes(block, "little")
to_little = lambda number: number.to_bytes(16, "little")

def product(one, other):
    result = 0
    for bit in range(128):
        if other >> bit & 1:
            result ^= one << bit
    for bit in range(254, 127, -1):
        if result >> bit & 1:
            result ^= MODULUS << bit - 128
    return result

def polyval(key, blocks):
    key, state = product(from_little(key), SHRUNK), 0
    for at in range(0, len(blocks), 16):
        state = product(state ^ from_little(blocks[at:at + 16]), key)
    return to_little(state)

# RFC 8452, appendix A
assert polyval(bytes.fromhex("25629347589242761d31f826ba4b757b"),
               bytes.fromhex("4f4f95668c83dfb6401762bb2d01a262d1a24ddd2721d006bbe45f20d3c9f362")).hex() == \
    "f7a3b47b846119fae5b7866cf5e5b77e"

def hctr2(key, tweak, message):
    aes = Cipher(AES(key), modes.ECB()).encryptor().update
    xor = lambda *blocks: bytes(a ^ b for a, b in zip(*blocks))
    hash_key, offset = aes(to_little(0)), aes(to_little(1))
    def hashed(rest):
        part = len(rest) % 16 != 0
        padded = rest + (b"\1" if part else b"")
        blocks = to_little(16 * len(tweak) + 2 + part) + tweak + bytes(-len(tweak) % 16)
        return polyval(hash_key, blocks + padded + bytes(-len(padded) % 16))
    rest = message[16:]
    before = xor(message[:16], hashed(rest))
    after = aes(before)
    first = from_little(xor(xor(before, after), offset))
    stream = b"".join(aes(to_little(first ^ number)) for number in range(1, len(rest) // 16 + 2))
    rest = xor(rest, stream)
    return xor(after, hashed(rest)) + rest

# HCTR2_AES128.json, number 11
assert hctr2(bytes.fromhex("8d36a6f8fe0ad10effbdf374ea1a5919"), b"", bytes.fromhex(
    "99d5cbe30b34037f655f60fad017667f7a331e941c3ae9eebae09458e6a136")).hex() == \
    "99b50bd965c89e8976d3ce7215c795daff048c8fe6050b2b44a290fa2bf3fe"

# CBC with ciphertext stealing over AES, variant 1 (SP 800-38A, addendum)

def cbc_cs1(key, iv, message):
    missing = -len(message) % 16
    blocks = Cipher(AES(key), modes.CBC(iv)).encryptor().update(message + bytes(missing))
    return blocks[:len(blocks) - 16 - missing] + blocks[-16:]

# RFC 3962, appendix B, 31 bytes, whose last two blocks are in the other order
assert cbc_cs1(b"chicken teriyaki", bytes(16), b"I would like the General Gau's ").hex() == \
    "97687268d6ecccc0c07b25e25ecfe5" "fc00783e0efdb2c1d445d4c8eff7ed22"
