"""Makes fields-v1.csv and its manifest as docs/formats.md (12) and SP 800-38G have them, without any code of ours.

Needs the package cryptography. The KEK is the bytes 0 to 31, key golden, version 1; it protects nothing else.
"""
import base64, hmac, hashlib, math, os, struct, sys
from datetime import date
from cryptography.hazmat.primitives.cmac import CMAC
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

KEK, KEY_ID, KEY_VERSION, TABLE, CIPHER_ID = bytes(range(32)), b"golden", struct.pack(">I", 1), b"people", struct.pack(">H", 2)

def part(x):
    return struct.pack(">Q", len(x)) + x

def subkey(purpose, context, length=32):
    info = b"sealstone 1" + part(purpose) + b"".join(map(part, context)) + struct.pack(">Q", length)
    return HKDF(SHA256(), length, None, info).derive(KEK)

def ff1(key, radix, tweak, x):
    encrypt = lambda block: Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(block)
    def number(numerals):
        result = 0
        for numeral in numerals:
            result = result * radix + numeral
        return result
    n = len(x); u = n // 2; v = n - u
    a, b_ = list(x[:u]), list(x[u:])
    b = ((radix ** v - 1).bit_length() + 7) // 8
    d = 4 * ((b + 3) // 4) + 4
    p = bytes([1, 2, 1]) + radix.to_bytes(3, "big") + bytes([10, u % 256]) + struct.pack(">II", n, len(tweak))
    for i in range(10):
        q = tweak + bytes((-len(tweak) - b - 1) % 16) + bytes([i]) + number(b_).to_bytes(b, "big")
        state = bytes(16)
        for at in range(0, len(p + q), 16):
            state = encrypt(bytes(s ^ c for s, c in zip(state, (p + q)[at:at + 16])))
        s = state
        for j in range(1, (d + 15) // 16):
            s += encrypt(bytes(r ^ c for r, c in zip(state, j.to_bytes(16, "big"))))
        m = u if i % 2 == 0 else v
        c = (number(a) + int.from_bytes(s[:d], "big")) % radix ** m
        digits = []
        for _ in range(m):
            digits.append(c % radix)
            c //= radix
        a, b_ = b_, digits[::-1]
    return a + b_

def ff1_key(column, format_, everywhere=False):
    first = [b"everywhere", b"", b""] if everywhere else [b"column", TABLE, column]
    return subkey(b"field ff1", first + [format_, CIPHER_ID, KEY_ID, KEY_VERSION])

def ranked(key, count, tweak, rank):
    length = next(n for n in range(2, 9) if 65536 ** n >= count)
    radix = next(r for r in range(max(2, int(count ** (1 / length)) - 2), 65537) if r ** length >= count)
    while True:
        numerals = [rank // radix ** (length - 1 - at) % radix for at in range(length)]
        rank = 0
        for numeral in ff1(key, radix, tweak, numerals):
            rank = rank * radix + numeral
        if rank < count:
            return rank

def phone(value):
    key = ff1_key("전화".encode(), b"phone")
    sealed = ff1(key, 10, b"010", [int(c) for c in value if c.isdigit()][3:])
    return "010-" + "".join(map(str, sealed[:4])) + "-" + "".join(map(str, sealed[4:]))

def name(value, row):
    row = row.encode()
    key = ff1_key("이름".encode(), b"hangul")
    sealed = ff1(key, 11172, struct.pack(">I", 0) + row, [ord(c) - 0xAC00 for c in value])
    return "".join(chr(0xAC00 + numeral) for numeral in sealed)

def check_digit(digits):
    total = sum(d * w for d, w in zip(digits, [2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5]))
    return (11 - total % 11 + (2 if digits[6] >= 5 else 0)) % 10

def resident(value):
    digits = [int(c) for c in value if c.isdigit()]
    born = date((1900 if digits[6] in (1, 2, 5, 6) else 2000) + digits[0] * 10 + digits[1], digits[2] * 10 + digits[3],
                digits[4] * 10 + digits[5])
    first = date(1900, 1, 1).toordinal()
    days = date(2099, 12, 31).toordinal() - first + 1
    of_sex = (digits[6] - 1) % 2 + 2 * ((digits[6] - 1) // 4)
    rank = ((born.toordinal() - first) * 4 + of_sex) * 100000 + int("".join(map(str, digits[7:12])))
    count = days * 400000
    off = (digits[12] - check_digit(digits)) % 10
    if off:
        rank, count = rank * 9 + off - 1, count * 9
    rank = ranked(ff1_key(b"rrn", b"rrn", everywhere=True), count, b"", rank)
    if off:
        rank, off = rank // 9, rank % 9 + 1
    serial, rank = rank % 100000, rank // 100000
    of_sex, day = rank % 4, date.fromordinal(first + rank // 4)
    seventh = 1 + of_sex % 2 + 4 * (of_sex // 2) + (2 if day.year >= 2000 else 0)
    text = f"{day.year % 100:02}{day.month:02}{day.day:02}{seventh}{serial:05}"
    digits = [int(c) for c in text]
    return f"{text[:6]}-{text[6:]}{(check_digit(digits + [0]) + off) % 10}"

def memo(value, row, salt=bytes(range(100, 116))):
    key = subkey(b"field", [TABLE, b"memo", salt, CIPHER_ID, KEY_ID, KEY_VERSION])
    nonce = hashlib.sha256(b"nonce" + row.encode()).digest()[:12]
    head = bytes([1]) + CIPHER_ID + KEY_VERSION + bytes([len(KEY_ID)]) + KEY_ID + salt + nonce
    associated = head + b"\x01" + part(TABLE) + part(b"memo") + part(row.encode())
    return base64.urlsafe_b64encode(head + AESGCM(key).encrypt(nonce, value.encode(), associated)).decode().rstrip("=")

def index(value):
    cmac = CMAC(algorithms.AES(subkey(b"field index", [TABLE, b"memo", CIPHER_ID, KEY_ID, KEY_VERSION])))
    cmac.update(value.encode())
    return cmac.finalize().hex()[:6]

ROWS = [("1", "홍길동", "870605-1234567", "010-1234-5678", "first"), ("2", "홍길동", "000101-3000002", "010-8765-4321", ""),
        ("3", "이영희", "000101-1000002", "010-0000-0000", "세 번째")]
lines = ["id,이름,rrn,전화,memo,memo_index"]
for id_, name_, rrn, phone_, memo_ in ROWS:
    lines.append(",".join([id_, name(name_, id_), resident(rrn), phone(phone_), memo(memo_, id_), index(memo_)]))
content = "".join(line + "\n" for line in lines).encode()
file_id = bytes(range(200, 216))
context = [file_id, KEY_ID, KEY_VERSION]
file_mac = hmac.digest(subkey(b"field file", context), content, "sha256")
columns = [(b"memo", b"aead", b"row:id", b"memo_index", 24), (b"rrn", b"ff1:rrn", b"none", b"", 0),
           ("이름".encode(), b"ff1:hangul", b"row:id", b"", 0), ("전화".encode(), b"ff1:phone", b"column", b"", 0)]
covered = [struct.pack(">Q", 1), file_id, TABLE, CIPHER_ID, KEY_ID, KEY_VERSION, b",", b"UTF-8", struct.pack(">Q", 3), file_mac]
for column, method, tweak, index_name, bits in sorted(columns):
    covered += [column, method, tweak, index_name, struct.pack(">I", bits), b"\0\0"]
mac = hmac.digest(subkey(b"field manifest", context), b"".join(map(part, covered)), "sha256")
manifest = f'''version = 1
id = "{file_id.hex()}"
table = "people"
cipher = "aes-256"
key = "golden"
key-version = 1
delimiter = ","
encoding = "UTF-8"
rows = 3
file-mac = "{file_mac.hex()}"
mac = "{mac.hex()}"
[columns.memo]
method = "aead"
tweak = "row:id"
index = {{ name = "memo_index", bits = 24 }}
[columns.rrn]
method = "ff1"
format = "rrn"
tweak = "none"
[columns."이름"]
method = "ff1"
format = "hangul"
tweak = "row:id"
[columns."전화"]
method = "ff1"
format = "phone"
'''
# SP 800-38G, FF1 sample 2: the function above is FF1
sample = ff1(bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c"), 10, bytes.fromhex("39383736353433323130"), list(range(10)))
assert sample == [6, 1, 2, 4, 2, 0, 0, 7, 7, 3]
where = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
open(os.path.join(where, "fields-v1.csv"), "wb").write(content)
open(os.path.join(where, "fields-v1.csv.sealed.toml"), "w", encoding="utf-8").write(manifest)
