"""Prints the drawings and worked examples of docs/formats.md, made from the files beside it without any code of ours.

With --check it prints nothing, and fails unless docs/formats.md has exactly these. Needs Python 3.11 and the package
cryptography, 44 or newer. What no file here holds (a journal, messages of a tunnel) is made from the bytes shown.
"""
import base64, hashlib, hmac, os, re, runpy, struct, sys, tempfile, tomllib
from collections import Counter
from cryptography.hazmat.decrepit.ciphers.algorithms import TripleDES
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers import Cipher, modes
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

HERE = os.path.dirname(os.path.abspath(__file__))
READ = runpy.run_path(f"{HERE}/read-v1.py")
part, subkey, counter, opened, stored = (READ[name] for name in ["part", "subkey", "counter", "opened", "stored"])
KEK, KEY_ID, KEY_VERSION, CIPHER_ID = (READ[name] for name in ["KEK", "KEY_ID", "KEY_VERSION", "CIPHER_ID"])
CONTENT = READ["CONTENT"]
PRIMITIVES = runpy.run_path(f"{HERE}/primitives.py")
crc32c, keyed_blake3, blake3_key, hpke, handshake, hctr2, cbc_cs1 = (
    PRIMITIVES[name] for name in ["crc32c", "keyed_blake3", "blake3_key", "hpke", "handshake", "hctr2", "cbc_cs1"])
KEK_OF_SERVER = bytes([0x11] * 32)
with tempfile.TemporaryDirectory() as elsewhere:
    given, sys.argv = sys.argv, ["fields-v1.py", elsewhere]
    FIELDS = runpy.run_path(f"{HERE}/fields-v1.py")
    sys.argv = given
u16, u32, u64 = (lambda n, form=form: struct.pack(form, n) for form in [">H", ">I", ">Q"])
little = lambda n: struct.pack("<I", n)
WIDTH = 100
BLOCKS = []

# Drawings: a row is a list of fields, each a name and its length in bytes, a number or what stands for one.

def after(offset, length):
    """The offset behind `length` more bytes; None where it is not known. An offset counts bytes and letters."""
    known = offset is not None and " " not in str(length) and length != "…"
    return offset + Counter({"": length} if isinstance(length, int) else {length: 1}) if known else None

def in_words(offset):
    letters = [f"{count if count > 1 else ''}{letter}" for letter, count in offset.items() if letter]
    return " + ".join(([str(offset[""])] if offset[""] or not letters else []) + letters)

def strip(row, offset):
    tops, cells = "", []
    for name, length in row:
        top = "" if offset is None else in_words(offset)
        width = max(len(name), len(str(length)), len(top) - 1)
        tops += top.ljust(width + 3)
        cells.append((name.ljust(width), str(length).ljust(width)))
        offset = after(offset, length)
    line = lambda left, between, right: left + between.join("─" * (len(name) + 2) for name, _ in cells) + right
    text = lambda at: "│ " + " │ ".join(cell[at] for cell in cells) + " │"
    return [tops.rstrip(), line("┌", "┬", "┐"), text(0), text(1), line("└", "┴", "┘")], offset

def drawing(*rows):
    """Several, one above the other, if there are titles among the rows."""
    lines, offset = [], Counter()
    for row in rows:
        if isinstance(row, str):
            lines, offset = lines + ([""] if lines else []) + [row], Counter()
        else:
            more, offset = strip(row, offset)
            lines += more
    block(lines)

# Examples: lines of a name, bytes in hexadecimal digits, and what they are.

def block(lines):
    flat = [line for one in lines for line in ([one] if isinstance(one, str) else one)]
    assert all(len(line) <= WIDTH for line in flat), max(flat, key=len)
    BLOCKS.append("\n".join(line.rstrip() for line in flat))

def example(title, *lines):
    block([f"Example: {title}", "", *lines])

def digits(value):
    """`value` in hexadecimal digits; of more than 32 bytes the first 16 and the last 8."""
    return value.hex() if len(value) <= 32 else f"{value[:16].hex()} … {value[-8:].hex()}"

def said(name, value, note=""):
    if isinstance(value, bytes) and len(value) > 32:
        note = f"({len(value):,} bytes) {note}".rstrip()
    return f"{name:<17}{digits(value) if isinstance(value, bytes) else value}  {note}"

def whole(name, value):
    """As `said`, with every byte."""
    return [f"{'' if at else name:<17}{value[at:at + 32].hex()}" for at in range(0, len(value), 32)]

def digested(name, value):
    """As `said`, with the digest of what is too long to be shown."""
    return [said(name, value, "SHA-256"), said("", hashlib.sha256(value).digest())]

def fields(rows, value, at=0, **notes):
    """A line for each field of a drawing, as it is in `value`, whose first byte is byte `at` of the file."""
    lines, start = [], 0
    for name, length in (field for row in rows for field in row):
        piece, note = value[start:start + length], notes.get(name.replace(" ", "_"))
        if length > 16 and not any(piece):
            lines.append(f"{at + start:>6}  {'00 … 00':<32}  {length} zeros")
        else:
            lines.append(f"{at + start:>6}  {digits(piece):<32}  {name}{': ' + note if note else ''}")
        start += length
    assert start == len(value), (start, len(value))
    return lines

def quoted(value):
    return '"' + value.decode().replace("\n", "\\n") + '"'

# 1. From key to page

frames = stored("v1-aes-256-frames")
file_id, salt = frames[24:40], frames[40:56]
context = {"file id": file_id, "salt": salt, "cipher id": CIPHER_ID, "key id": KEY_ID, "key version": KEY_VERSION}
wrapping_key = subkey(KEK, b"wrap", context.values())
example("the wrapping key of v1-aes-256-frames.hex",
        said("KEK", KEK), said("info", b"sealstone 1", '"sealstone 1"'), said("", f"{u64(4).hex()} {b'wrap'.hex()}", 'part("wrap")'),
        [said("", f"{u64(len(value)).hex()} {value.hex()}", f"part({name})") for name, value in context.items()],
        said("", u64(32), "length of the subkey"), said("wrapping key", wrapping_key))
material = bytes(range(16))
example("the KEK from the object 17 of a key server, a key of 16 bytes",
        said("key", material), said("KEK", subkey(material, b"kmip kek", [b"17"]), '"kmip kek", "17"'))

# 2. The header

HEADER = [
    [("magic", 8), ("format version", 2), ("layout", 1), ("kind", 1), ("cipher id", 2), ("zeros", 2), ("page length", 4),
     ("zeros", 4)],
    [("file id", 16), ("salt", 16), ("segment length", 8), ("key version", 4), ("key id length", 1), ("zeros", 3),
     ("key id", 64)],
    [("wrapped DEK", 32), ("tag", 16), ("wrapping", 4), ("zeros", 4), ("store id", 16), ("number", 8), ("module length", 1), ("module", 63), ("zeros", 232)],
]
drawing("the file",
        [("header", 512), ("zeros", 1536), ("mark", 16), ("zeros", 2032), ("header again", 512), ("zeros", 3584),
         ("pages, or frames", "…")],
        "the header", *HEADER)
_, dek = READ["header"](frames, 2, 0)
mark_key = subkey(dek, b"synced", [file_id])
assert opened(mark_key, counter(0), frames[2048:2064], file_id) == b""
example("the header of v1-aes-256-frames.hex",
        fields(HEADER, frames[:512], magic='"\\x89SEALST\\n"', layout="frames", kind="of no store", cipher_id="aes-256",
               segment_length="2^32 blocks", key_id='"golden"'), "",
        said("wrapping key", wrapping_key, "section 1"), said("nonce", counter(0)),
        digested("associated data", frames[:136] + bytes(48) + frames[184:512]), said("DEK", dek), "",
        said("key of the mark", mark_key, '"synced", file id'), said("nonce", counter(0)),
        said("associated data", file_id, "file id"), said("mark", frames[2048:2064], "bytes 2048 to 2063 of the file"))

# 3. Pages

drawing("the file",
        [("header area", 8192), ("page 0", "P"), ("tag", 16), ("page 1", "P"), ("tag", 16), ("…", "…"),
         ("last page", "1 to P"), ("tag", 16)],
        "associated data of a page", [("file id", 16), ("page number n", 8), ("bytes of data", 4), ("last", 4)])
paged = stored("v1-aes-256-paged")
paged_id, paged_dek = READ["header"](paged, 1, 0)
key, at = subkey(paged_dek, b"pages", [paged_id, CIPHER_ID, u64(0)]), 8192 + 2 * (4096 + 16)
associated = paged_id + u64(2) + u32(808) + u32(1)
data = opened(key, counter(2 * 4096 // 16), paged[at:], associated)
assert data == CONTENT[2 * 4096:9000]
example("the last page, n = 2, of v1-aes-256-paged.hex: P = 4,096, and 9,000 bytes of data in all",
        fields([[("ciphertext", 808), ("tag", 16)]], paged[at:], at, ciphertext="808 bytes"), "",
        said("file id", paged_id), said("DEK", paged_dek), said("segment key", key, '"pages"'),
        said("nonce", counter(512), "counter 2 · (4,096 ÷ 16)"), whole("associated data", associated),
        said("data", data), said("", quoted(data[:16]) + " … " + quoted(data[-8:])))

# 4. Frames

drawing("a frame", [("length L", 4), ("random bits", 4), ("ciphertext", "L"), ("tag", 16)],
        "its associated data", [("file id", 16), ("frame number", 8), ("offset of the frame", 8), ("L", 4)])
FRAME_1, FRAME_FIELDS = slice(8217, 8249), [[("length L", 4), ("random bits", 4), ("ciphertext", 8), ("tag", 16)]]
key, frame, place = subkey(dek, b"frames", [file_id, CIPHER_ID, u64(0)]), frames[FRAME_1], u64(1) + u64(8217) + u32(8)
nonce = frame[4:8] + u64(1)
data = opened(key, nonce, frame[8:], file_id + place)
assert data == CONTENT[1:9]
example("frame 1 of v1-aes-256-frames.hex, after frame 0, which has 1 byte of data",
        fields(FRAME_FIELDS, frame, 8217), "",
        said("DEK", dek, "section 2"), said("segment key", key, '"frames"'), said("nonce", nonce),
        whole("associated data", file_id + place), said("data", data, quoted(data)))

# 5. Catalogues

SLOT = [("file id", 16), ("synced bytes", 8), ("tag", 16), ("zeros", 24)]
LIST = [("01", 1), ("store id", 16), ("generation", 8), ("highest number", 8), ("number of records", 8)]

def entry(m):
    return [("02", 1), ("m", 1), ("name", m), ("file id", 16), ("adopted", 1), ("slot", 2), ("synced bytes", 8),
            ("state", 1)]

def entries(data, at, shown):
    """The fields of the first entries from `at` on, and how many more there are."""
    lines, more = [], 0
    while at < len(data):
        m = data[at + 1]
        if more < shown:
            lines += fields([entry(m)], data[at:at + 30 + m], at, name=quoted(data[at + 2:at + 2 + m]))
        at, more = at + 30 + m, more + 1
    return lines + ([f"        … ({more - shown} more entries)"] if more > shown else [])

drawing("the file", [("header area", 8192), ("256 slots", 16384), ("256 slots again", 16384), ("frames", "…")],
        "a slot", SLOT,
        "the beginning of the list", LIST,
        "the record of an entry", entry("m") + [("file id before", "0 or 16")],
        "of a name that is forgotten", [("03", 1), ("m", 1), ("name", "m")],
        "of the directory of the logs", [("04", 1), ("m", 2), ("path", "m"), ("store id of its catalogue", 16)])
catalogue, log = stored("v1-aes-256-catalogue"), bytes([3]) * 16
(listed, change), _, catalogue_dek = READ["frames"](catalogue, 40960, 6)
store_id, at, slot_key = listed[1:17], 8192 + 64, subkey(catalogue_dek, b"synced slot", [u16(1), log])
assert READ["slot"](catalogue, catalogue_dek, 1, log) == 9000
example("the data of frame 0 of v1-aes-256-catalogue.hex", fields([LIST], listed[:41]), entries(listed, 41, 1), "",
        "the data of frame 1", "", entries(change, 0, 1), "",
        "slot 1, of 000004.log", "", fields([SLOT], catalogue[at:at + 64], at, synced_bytes="9,000"), "",
        said("DEK", catalogue_dek), said("key of the slot", slot_key, '"synced slot"'), said("nonce", counter(9000), "counter 9,000"),
        said("associated data", log, "file id"))

# 6. An unfinished copy in the clear

block(["an unfinished copy of a sealed store; `sealstone rest unseal` resumes it, nothing else opens it",
       f"store {store_id.hex()}", "from /data/orders",
       f"000008.sst {paged_id.hex()} 9000 {crc32c(CONTENT[:9000]):08x}"])

# 8. Key files

def key_file(name):
    def taken(value):
        if isinstance(value, dict):
            return {key: taken(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [taken(inner) for inner in value]
        return bytes.fromhex(value) if isinstance(value, str) and re.fullmatch("[0-9a-f]{24,}", value) else value
    return taken(tomllib.load(open(f"{HERE}/{name}", "rb")))

def stretched(of):
    return Argon2id(salt=of["salt"], length=32, iterations=of["passes"], lanes=of["lanes"],
                    memory_cost=of["memory_kib"]).derive(b"sealstone golden")

def secret_of(entry, key, *more):
    """The key and the associated data of a version's secret, and the secret."""
    associated = b"".join(map(part, [KEY_ID, KEY_VERSION, entry["created"].encode(), u32(1) + u32(2), *more]))
    key = subkey(key, b"key file", [KEY_ID, KEY_VERSION])
    return key, associated, opened(key, entry["nonce"], entry["secret"] + entry["tag"], associated)

file = key_file("key-format-2.key")
version, passphrase_key = file["keys"][0], stretched(file["passphrase"])
key, associated, kek = secret_of(version, passphrase_key)
assert kek == KEK
example("version 1 in key-format-2.key, under the passphrase `sealstone golden`",
        said("Argon2id", passphrase_key), said("key of version 1", key, '"key file"'), said("nonce", version["nonce"]),
        whole("associated data", associated), said("KEK", kek, "that of v1.key"))

file, label = key_file("key-format-3.key"), b"sealstone key file 3"
version, alice = file["keys"][0], file["holders"][0]

def cost(holder):
    return u32(holder["memory_kib"]) + u32(holder["passes"]) + u32(holder["lanes"])

passphrase_key = stretched(alice)
identity_key = subkey(passphrase_key, b"key file holder", [KEY_ID, b"alice"])
bound = part(KEY_ID) + part(b"alice") + part(cost(alice)) + part(alice["public"])
identity = opened(identity_key, alice["nonce"], alice["identity"] + alice["tag"], bound)
private, membership, info = identity[:32], identity[32:], part(label) + part(KEY_ID) + part(b"alice")
assert X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw() == alice["public"]
shared, hpke_key, hpke_nonce = hpke(private, alice["encapsulated"], membership, label, info)
file_key = opened(hpke_key, hpke_nonce, alice["file_key"] + alice["file_key_tag"], b"")
HELD = ["salt", "nonce", "identity", "tag", "public", "encapsulated", "file_key", "file_key_tag"]
holders = [[holder["name"].encode(), cost(holder)] + [holder[name] for name in HELD] for holder in file["holders"]]
binding = b"".join(part(piece) for holder in holders for piece in holder)
key, associated, kek = secret_of(version, file_key, binding)
assert kek == KEK
example("version 1 in key-format-3.key, by the holder alice under the passphrase `sealstone golden`",
        said("Argon2id", passphrase_key), said("identity's key", identity_key, '"key file holder"'),
        whole("associated data", bound), said("private key", private), said("membership", membership), "",
        whole("HPKE's info", info), said("shared secret", shared), said("HPKE's key", hpke_key),
        said("HPKE's nonce", hpke_nonce), said("file key", file_key), "",
        digested("B", binding), said("key of version 1", key, '"key file"'), said("nonce", version["nonce"]),
        digested("associated data", associated), said("KEK", kek, "that of v1.key"))

file, token_key = key_file("key-format-4.key"), bytes(range(32))
version = file["keys"][0]
associated = b"".join(map(part, [KEY_ID, KEY_VERSION, version["created"].encode(), u32(1), b"sealstone key file 4"]))
kek = opened(token_key, version["nonce"], version["secret"] + version["tag"], associated)
assert kek == KEK
example("version 1 in key-format-4.key, under a key of a token whose bytes are 00 01 02 … 1f",
        said("nonce", version["nonce"]), whole("associated data", associated), said("KEK", kek, "that of v1.key"))

# 9. Counter mode plus MAC

drawing([("nonce", 8), ("length of AD, LE", 8), ("length of ciphertext, LE", 8), ("AD", "a"), ("ciphertext", "L")])

def ctr_mac(key, nonce, associated, sealed):
    """Opens what 3des sealed. Returns both subkeys, what the MAC is over, the key stream and the data."""
    cipher_key = blake3_key(b"sealstone 2026-11 ctr+mac v1 3des cipher key", key)[:24]
    mac_key = blake3_key(b"sealstone 2026-11 ctr+mac v1 3des mac key", key)
    ciphertext, tag = sealed[:-16], sealed[-16:]
    message = nonce + struct.pack("<QQ", len(associated), len(ciphertext)) + associated + ciphertext
    assert tag == keyed_blake3(mac_key, message)[:16]
    counters = b"".join(u64(int.from_bytes(nonce, "big") + at) for at in range((len(ciphertext) + 7) // 8))
    stream = Cipher(TripleDES(cipher_key), modes.ECB()).encryptor().update(counters)
    return cipher_key, mac_key, message, stream, bytes(one ^ other for one, other in zip(ciphertext, stream))

old, old_cipher = stored("v1-3des-frames"), u16(5)
old_id, old_salt = old[24:40], old[40:56]
old_wrap = subkey(KEK, b"wrap", [old_id, old_salt, old_cipher, KEY_ID, KEY_VERSION], 24)
old_dek = ctr_mac(old_wrap, u64(0), old[:136] + bytes(48) + old[184:512], old[136:184])[-1]
key, frame = subkey(old_dek, b"frames", [old_id, old_cipher, u64(0)], 24), old[FRAME_1]
cipher_key, mac_key, covered, stream, data = ctr_mac(key, u64(2), old_id + place, frame[8:])
assert data == CONTENT[1:9]
example("frame 1 of v1-3des-frames.hex; frame 0, of 1 byte, takes 2 blocks of the segment",
        fields(FRAME_FIELDS, frame, 8217), "",
        said("file id", old_id), said("wrapping key", old_wrap, '"wrap"'), said("DEK", old_dek),
        said("segment key K", key, '"frames"'), said("cipher key", cipher_key), said("MAC key", mac_key), "",
        said("nonce", u64(2), "counter 2"), whole("associated data", old_id + place), whole("MAC over", covered),
        said("E(nonce)", stream), said("data", data, quoted(data)))

# 10. Engine pages

BLOCK = [
    [("magic", 3), ("format version", 1), ("cipher id", 2), ("flags", 1), ("zero", 1), ("key version", 4),
     ("fingerprint", 8)],
    [("salt", 16), ("padding p", 2), ("drawn", 6), ("counter", 4)],
]
drawing(*BLOCK, [("ciphertext", "n"), ("zeros", "p"), ("tag", 16), ("tag of the place", "0 or 16")])
page, bound = stored("engine-page-v1-aes-256"), b"01234567"
key, head = subkey(KEK, b"engine page", [page[20:36], CIPHER_ID]), page[:48]
data = opened(key, head[36:48], page[48:3048] + page[3084:3100], head + bound)
assert data == CONTENT[:3000] and head[12:20] == subkey(KEK, b"engine page key", [KEY_ID], 8)
assert not any(page[3048:3084]) and page[3100:] == bytes(16)
example("engine-page-v1-aes-256.hex: n = 3,000, p = 36, bound to the bytes `01234567`",
        fields(BLOCK + [[("ciphertext", 3000), ("zeros", 36), ("tag", 16), ("tag of the place", 16)]], page,
               magic='"\\x89SP"', cipher_id="aes-256", flags="bits 4 and 3, kind 2",
               fingerprint='"engine page key", "golden"', ciphertext="3,000 bytes",
               tag_of_the_place="set by who stores it"), "",
        said("key", key, '"engine page"'), said("nonce", head[36:48], "bytes 36 to 47"),
        whole("associated data", head + bound), said("data", data))

# 11. WiredTiger's journal

RECORD = [("length, LE", 4), ("CRC-32C, LE", 4), ("flags, LE", 2), ("zeros", 2), ("length in memory, LE", 4)]

def first_record(*rest):
    return [RECORD, [("description", 16), ("sealed key of the file", 96), *rest]]

def encrypted_record(n, *rest):
    return [RECORD, [("end of the block, LE", 4), ("header of the block", 48), ("ciphertext", n), ("tag", 16),
                     ("tag of the place", 16), *rest]]

ACCOUNT = [
    [("version 1", 1), ("sequence number", 8), ("highest number", 4), ("number of entries", 4)],
    [("number of a file", 4), ("synced bytes", 8), ("file id", 16)],
]
drawing("the first record of a file", *first_record(("zeros", "…")),
        "an encrypted record, with a block as in section 10", *encrypted_record("n", ("zeros", "…")),
        "an account, twice in its file", [("length b", 4), ("block", "b")],
        "the content of that block", ACCOUNT[0], ACCOUNT[1] + [("…", "…")])

def made(plain, flags, bound, count, room=b""):
    """A block under the salt 10 to 1f, of which 6 bytes a0 to a5 are drawn."""
    head = b"\x89SP\x01" + CIPHER_ID + bytes([flags, 0]) + KEY_VERSION + subkey(KEK, b"engine page key", [KEY_ID], 8)
    head += bytes(range(0x10, 0x20)) + u16(0) + bytes(range(0xA0, 0xA6)) + u32(count)
    key = subkey(KEK, b"engine page", [head[20:36], CIPHER_ID])
    return head + AESGCM(key).encrypt(head[36:48], plain, head + bound) + room

def summed(record):
    return record[:4] + little(crc32c(record[:4] + bytes(4) + record[8:])) + record[8:]

def place_tag(message):
    return hmac.digest(journal_key, message, "sha256")[:16]

journal_key = bytes(range(0x40, 0x60))
first = little(128) + bytes(12) + little(0x101064) + struct.pack("<HHQ", 5, 0, 100 << 20)
bound = b"journal file" + first[:4] + first[16:32]
first = summed(first + made(journal_key, 0b110, bound, 0))
third = little(128) + bytes(4) + struct.pack("<HHI", 2, 0, 0) + little(128)
third_bound = bytes([third[8] & ~2]) + third[9:16]
third += made(CONTENT[:28], 0b11100, third_bound, 1)
covered = b"\x02" + u32(1) + u64(256) + third[:4] + third[8:20] + third[96:112]
third = summed(third + place_tag(covered))
account = b"\x01" + u64(7) + u32(1) + u32(1) + u32(1) + u64(384) + place_tag(b"\x01")
copy = made(account, 0b110, b"journal account", 2)
assert len(first) == len(third) == 128
example("the first record of WiredTigerLog.0000000001; salt 10 to 1f, drawn a0 to a5",
        fields(first_record(), first), "",
        said("bound to", bound), said("key of the file", journal_key), said("file id", place_tag(b"\x01"), "MAC(01)"), "",
        "its third record, at 256, with 28 bytes of content", "",
        fields(encrypted_record(28), third, 256), "",
        said("block bound to", third_bound, "bytes 8 to 15, without the bit"), whole("MAC over", covered), "",
        "the account: 384 bytes of that file were synced", "",
        fields([[("length b", 4), ("block", len(copy))]], u32(len(copy)) + copy), "", "its content", "",
        fields(ACCOUNT, account))

# 12. Field records

VALUE_KEK = FIELDS["KEK"]

def record(k, n, length):
    return [("version", 1), ("cipher id", 2), ("key version", 4), ("k", 1), ("key id", k), ("salt", 16), ("nonce", n),
            ("ciphertext", length), ("tag", 16)]

def value_key(purpose, *context):
    return subkey(VALUE_KEK, purpose, [*context, KEY_ID, KEY_VERSION])

drawing(record("k", "n", "L"))
csv = open(f"{HERE}/fields-v1.csv", "rb").read()
row = csv.decode().splitlines()[1].split(",")
sealed = base64.urlsafe_b64decode(row[4] + "=" * (-len(row[4]) % 4))
key, head = value_key(b"field", b"people", b"memo", sealed[14:30], CIPHER_ID), sealed[:42]
associated = head + b"\x01" + part(b"people") + part(b"memo") + part(b"1")
data = opened(key, head[30:], sealed[42:], associated)
assert data == b"first"
example("the first memo in fields-v1.csv; the KEK of these files is the bytes 00 to 1f", row[4], "",
        fields([record(6, 12, 5)], sealed, cipher_id="aes-256", key_id='"golden"'), "",
        said("key", key, '"field"'), whole("associated data", associated), said("value", data, quoted(data)))

def in_column(column, form):
    return value_key(b"field ff1", b"column", b"people", column.encode(), form, CIPHER_ID)

def listed_as(numerals):
    return " ".join(map(str, numerals))

phone_key, phone = in_column("전화", b"phone"), [1, 2, 3, 4, 5, 6, 7, 8]
sealed_phone = FIELDS["ff1"](phone_key, 10, b"010", phone)
assert row[3].replace("-", "") == "010" + "".join(map(str, sealed_phone))
name_key, name, tweak = in_column("이름", b"hangul"), [ord(c) - 0xAC00 for c in "홍길동"], u32(0) + b"1"
sealed_name = FIELDS["ff1"](name_key, 11172, tweak, name)
assert row[1] == "".join(chr(0xAC00 + numeral) for numeral in sealed_name)
index_key = value_key(b"field index", b"people", b"memo", CIPHER_ID)
cmac = FIELDS["CMAC"](FIELDS["algorithms"].AES(index_key))
cmac.update(b"first")
cmac = cmac.finalize()
assert cmac.hex()[:6] == row[5]
example("the same row: `phone` 010-1234-5678 in the column 전화, tweak `column`",
        said("key", phone_key, '"field ff1"'), said("tweak", b"010", '"010"'), said("radix 10", listed_as(phone)),
        said("FF1", listed_as(sealed_phone), row[3]), "",
        "`hangul` 홍길동 in the column 이름, tweak `row:id`", "",
        said("key", name_key, '"field ff1"'), said("tweak", tweak, 'u32(0) ‖ "1"'), said("radix 11,172", listed_as(name)),
        said("FF1", listed_as(sealed_name), row[1]), "",
        "the index value of the memo, 24 bits", "",
        said("key", index_key, '"field index"'), said("CMAC", cmac), said("index value", row[5]))

text = open(f"{HERE}/fields-v1.csv.sealed.toml", encoding="utf-8").read()
manifest = tomllib.loads(text)
manifest_id = bytes.fromhex(manifest["id"])
file_key, key = value_key(b"field file", manifest_id), value_key(b"field manifest", manifest_id)
file_mac = hmac.digest(file_key, csv, "sha256")
parts = [u64(1), manifest_id, b"people", CIPHER_ID, KEY_ID, KEY_VERSION, b",", b"UTF-8", u64(3), file_mac]
for name, column in sorted(manifest["columns"].items()):
    method = column["method"] + (":" + column["format"] if "format" in column else "")
    index = column.get("index", {"name": "", "bits": 0})
    parts += [name.encode(), method.encode(), column.get("tweak", "column").encode(), index["name"].encode()]
    parts += [u32(index["bits"]), b"\0\0"]
covered = b"".join(map(part, parts))
mac = hmac.digest(key, covered, "sha256")
assert (file_mac.hex(), mac.hex()) == (manifest["file-mac"], manifest["mac"])
block(text.split("[columns.rrn]")[0].splitlines() + ["…"])
example("the MACs in this manifest, which has four columns",
        said("key of the file", file_key, '"field file"'), said("file-mac", file_mac, "of fields-v1.csv"), "",
        said("key", key, '"field manifest"'), digested("parts", covered),
        whole("of column memo", b"".join(map(part, parts[10:16]))), said("mac", mac))

body = '''cipher = "aes-256"
id = "c8c9cacbcccdcecfd0d1d2d3d4d5d6d7"
key = "golden"
key-version = 1
table = "people"
version = 1

[columns.memo]
method = "aead"
tweak = "row:id"
'''
key = value_key(b"field table", manifest_id)
block([f'mac = "{hmac.digest(key, body.encode(), "sha256").hex()}"', *body.splitlines()])
example("the memo above in such a table, and the key of this MAC",
        "memo_sealed         1", f"memo_sealed_digest  {hashlib.sha256(row[4].encode()).hexdigest()[:16]}", "",
        said("key", key, '"field table"'))

# 13. Messages of a tunnel

def message(*rest):
    return [("zeros", 4), ("kind", 1), ("version 1", 1), *rest]

NAMES = [("handshake id", 8), ("key version", 4), ("k", 1), ("key id", "k"), ("s", 1), ("suite", "s")]
drawing("a sealed packet (RFC 4303)",
        [("index, not 0", 4), ("sequence number", 4), ("IV", "v"), ("ciphertext", "L"), ("check value", "t")],
        "kind 1, a first message", message(*NAMES), [("public key", 32), ("sealed", 46), ("tag", 16)],
        "kind 2, a retry", message(("handshake id", 8), ("start of the sender", 16), ("proof", 16)),
        "kind 3, an answer", message(("handshake id", 8), ("public key", 32), ("sealed", 22), ("tag", 16)),
        "kind 4, a control message", message(("index", 4), ("counter", 8), ("sealed word", 1), ("tag", 16)),
        "kind 5, a refusal", message(("reason", 1), *NAMES),
        "what a first message seals",
        [("start of the sender", 16), ("start of the receiver", 16), ("number", 8), ("first index", 4), ("indexes", 2)],
        "what an answer seals", [("start of the sender", 16), ("first index", 4), ("indexes", 2)])

SUITE, HANDSHAKE = b"aes-256-gcm", bytes(range(1, 9))
starts, secrets = [bytes([0x11]) * 16, bytes([0x22]) * 16], [bytes(range(0x20)), bytes(range(0x20, 0x40))]
psk = subkey(KEK, b"wire handshake", [])
head = b"\x01\x01" + HANDSHAKE + KEY_VERSION + bytes([6]) + KEY_ID + bytes([len(SUITE)]) + SUITE
asked, answered = starts[0] + starts[1] + u64(1) + u32(0x1000) + u16(1), starts[1] + u32(0x2000) + u16(1)
(first, answer), noise_hash, (secret, _) = handshake(b"sealstone wire " + head, psk, secrets, [asked, answered])
proof = subkey(psk, b"wire retry", [HANDSHAKE, starts[1]], 16)
keys = subkey(secret, b"wire packets", [SUITE, u32(0x2000), noise_hash], 36)
control_key, control_head = subkey(secret, b"wire control", [noise_hash]), b"\x04\x01" + u32(0x2000) + u64(1)
control = AESGCM(control_key).encrypt(counter(1), b"\x01", control_head)
packet = bytes.fromhex("450000140000400040110000") + bytes([10, 0, 0, 1, 10, 0, 0, 2])
trailed, nonce, associated = packet + bytes([1, 2, 2, 4]), keys[32:] + u64(1), u32(0x2000) + u64(1)
sealed = AESGCM(keys[:32]).encrypt(nonce, trailed, associated)
example("a first message under v1.key: private keys 00 to 1f and 20 to 3f, starts 11…11 and 22…22",
        said("pre-shared key", psk, '"wire handshake"'), whole("head", head), whole("sealed content", asked),
        whole("message", head + first), "",
        "a retry, and the answer", "",
        said("proof", proof, '"wire retry"'), whole("retry", b"\x02\x01" + HANDSHAKE + starts[1] + proof),
        said("sealed content", answered), whole("answer", b"\x03\x01" + HANDSHAKE + answer), "",
        "what both ends then have for the direction of the one that began", "",
        said("hash", noise_hash), said("secret", secret), said("encryption key", keys[:32], '"wire packets"'),
        said("salt", keys[32:], "the last 4 of its 36 bytes"), said("control key", control_key, '"wire control"'), "",
        "its first control message, which confirms, and its first packet, an IPv4 header of 20 bytes", "",
        whole("message", control_head + control), "",
        said("packet", packet), said("with its trailer", trailed, "padding 01 02, length 02, IPv4"), said("nonce", nonce),
        said("associated data", associated), whole("sealed packet", u32(0x2000) + u32(1) + u64(1) + sealed))

# 14. Anchors, 15. Records of keys that others agreed on

block([f"sealstone-anchor 1 {store_id.hex()} 0 1"])
fingerprint = hmac.digest(b"sealstone: fingerprint of a key ", keys, "sha256")[:16].hex()
block([f"{fingerprint}.sealed", "", f'{{"schema":1,"packets":{1 + 2 ** 18},"blocks":{2 + 2 ** 25}}}'])

# 18. Volumes

MARKS = [("mark", 32), ("zeros", 4064), ("mark", 32), ("zeros", 2016)]
ROOT_HEAD = [("magic", 8), ("format version", 2), ("zeros", 6), ("volume id", 16), ("generation", 8), ("length n", 8),
             ("salt", 32), ("tag", 16), ("zeros", 32)]
ENTRY = [("tag", 16), ("epoch", 4), ("random bits", 4), ("counter", 8)]
ROOT = [("blocks", 8), ("s", 4), ("r", 4), ("l", 4), ("salts", "32s"), ("runs", "20r"), ("entries of leaf pages", "32l")]
FRAME = [("its own entry", 32), ("n", 4), ("m", 4), ("records", "40n"), ("blocks", "m B")]
drawing("sealstone.volume", [("header area", 8192), ("zeros", 2048), *MARKS],
        "sealstone.map-0 and sealstone.map-1", [("head", 128), ("zeros", 1920), *MARKS, ("root, sealed", "n")],
        "the head", ROOT_HEAD, "the root", ROOT, "a run", [("epoch", 4), ("segment", 8), ("frame", 8)],
        "a mark", [("frames", 8), ("epoch", 4), ("zeros", 4), ("tag", 16)],
        "an entry", ENTRY,
        "the beginning of sealstone.data",
        [("leaf page 0", 4096), ("again", 4096), ("tag page 0", 4096), ("again", 4096), ("block 0", "B"), ("…", "…"),
         ("block 126", "B"), ("tag page 1", 4096), ("…", "…")],
        "a page of entries", [("entry", 32), ("…", "…"), ("entry", 32), ("its own entry", 32)],
        "a frame", FRAME, "a record", [("number of the block", 8), ("entry", 32)],
        "a binding", [("volume id", 16), ("kind", 4), ("epoch", 4), ("number", 8)])
files = stored("v1-aes-256-volume")
volume, dek = READ["volume_keys"](files)
map = files[16384:]
_, (salt,), _, (top,), _, length = READ["root"](volume, dek, map)
root_key = subkey(dek, b"volume map", [volume, CIPHER_ID, map[48:80]])
root = opened(root_key, counter(0), map[8192:length] + map[80:96], map[:80] + bytes(16) + map[96:128])
leaf = READ["page_of"](map, length, top)
tags = READ["page_of"](map, length + 8192, leaf[:32])
first, key = tags[:32], subkey(dek, b"volume blocks", [volume, CIPHER_ID, salt, bytes(8)])
bound = READ["binding"](volume, 1, 1, 0)
data = opened(key, first[20:], map[length + 16384:length + 20480] + first[:16], bound)
log = map[length + 16384 + 8192:]
assert data == CONTENT[:4096] and leaf == map[length:length + 4096] or leaf[4064:] == top
example("the files of v1-aes-256-volume.hex: a device of two blocks, B = 4,096",
        said("volume id", volume, "its file id"), said("DEK", dek), "", "sealstone.map-0", "",
        fields([ROOT_HEAD], map[:128], magic='"\\x89SEALMP\\n"'), "",
        said("key", root_key, '"volume map"'), said("root", root), "",
        fields([ROOT[:4], [("salt", 32), ("run", 20), ("entry of leaf page 0", 32)]], root), "",
        "block 0, whose entry is the first of tag page 0", "",
        fields([ENTRY], first), "",
        said("key", key, '"volume blocks"'), said("nonce", first[20:], "random bits, counter"),
        said("associated data", bound, "binding"), said("data", data), "",
        "frame 0, which has block 1", "",
        fields([FRAME[:3], [("record", 40), ("block", 4096)]], log), "",
        said("key", key, '"volume blocks"'), said("nonce", log[20:32]),
        whole("associated data", READ["binding"](volume, 4, 1, 0) + log[32:80]), "",
        "the mark that one frame was synced", "",
        fields([[("frames", 8), ("epoch", 4), ("zeros", 4), ("tag", 16)]], files[10240:10272], 10240), "",
        said("key", subkey(dek, b"volume synced", [volume, CIPHER_ID, salt]), '"volume synced"'),
        said("nonce", bytes(4) + files[10240:10248]),
        said("associated data", READ["binding"](volume, 5, 1, 1), "binding"))

# Units of a server without room for a tag

def record(blocks, ends, nonce, data):
    """Whole blocks in CBC, and an end of two bytes or more through ten rounds."""
    block = lambda key, text: Cipher(AES(key), modes.ECB()).encryptor().update(text)
    added = lambda text, pad: bytes(a ^ b for a, b in zip(text, pad))
    last, whole = block(blocks, nonce), len(data) // 16 * 16
    done = Cipher(AES(blocks), modes.CBC(last)).encryptor().update(data[:whole])
    end, before = data[whole:], block(ends, (last + done)[-16:])
    halves = [end[:len(end) // 2], end[len(end) // 2:]]
    for turn in range(10):
        other = bytes([turn, len(end)]) + halves[1 - turn % 2]
        halves[turn % 2] = added(halves[turn % 2], block(ends, added(before, other.ljust(16, b"\0"))))
    return done + b"".join(halves)


named = [b"aes-256", u32(100)]
server = subkey(KEK_OF_SERVER, b"tablespace server key", named)
passed, nonce = server[:16], bytes([0x22] * 16)
pages, streams = (subkey(KEK_OF_SERVER, purpose, [*named, passed])
                  for purpose in [b"tablespace pages", b"tablespace streams"])
records, ends = (subkey(KEK_OF_SERVER, purpose, [*named, passed])
                 for purpose in [b"tablespace records", b"tablespace record ends"])
start = hctr2(pages, b"stream", nonce)
log = Cipher(AES(streams), modes.CTR(start)).encryptor().update(bytes([0x33] * 20))
example("key id 100 under aes-256, KEK 11…11, nonce 22…22, half of the key for the server passed",
        said("for the server", server), said("page key", pages), said("stream key", streams),
        said("counter block", start), said("record key", records), said("ends key", ends), "",
        whole("40 times 33", hctr2(pages, nonce, bytes([0x33] * 40))), said("as a log, 20", log),
        said("as a record, 20", record(records, ends, nonce, bytes([0x33] * 20))),
        said("as a block, 8", hctr2(pages, nonce + b"\1", bytes([0x33] * 8) + bytes(16))), "",
        said("fingerprint", subkey(KEK_OF_SERVER, b"tablespace fingerprint", [], 8)))

chained, streams, checks, records, ends = (
    subkey(KEK_OF_SERVER, b"tablespace " + purpose + b" cbc-cs1", [*named, passed])
    for purpose in [b"pages", b"streams", b"checks", b"records", b"record ends"])
start = Cipher(AES(chained), modes.ECB()).encryptor().update(nonce)
log = Cipher(AES(streams), modes.CTR(start)).encryptor().update(bytes([0x33] * 20))
check = hmac.digest(checks, nonce + bytes([0x33] * 8), "sha256")[:16]
example("the same in CBC-CS1",
        said("page key", chained), said("stream key", streams), said("check key", checks),
        said("record key", records), said("ends key", ends), said("iv, counter", start), "",
        whole("40 times 33", cbc_cs1(chained, start, bytes([0x33] * 40))), said("as a log, 20", log),
        said("as a record, 20", record(records, ends, nonce, bytes([0x33] * 20))),
        said("as a block, 8", cbc_cs1(chained, start, bytes([0x33] * 8) + check)))

if sys.argv[1:] == ["--check"]:
    page = open(f"{HERE}/../../docs/formats.md", encoding="utf-8").read()
    missing = [text for text in BLOCKS if f"```text\n{text}\n```" not in page]
    assert not missing, f"docs/formats.md lacks\n{missing[0]}"
    assert page.count("```text\n") == len(BLOCKS), "docs/formats.md has blocks that are not made here"
else:
    print("\n\n".join(BLOCKS))
