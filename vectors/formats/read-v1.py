"""Opens the files and blocks of aes-256 beside it as docs/formats.md has them, without any code of ours.

Needs the package cryptography. Prints one line for each; fails at the first that does not contain what README.md says.
"""
import os, re, struct
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

HERE = os.path.dirname(os.path.abspath(__file__))
KEY_ID, KEY_VERSION, CIPHER_ID = b"golden", struct.pack(">I", 1), struct.pack(">H", 2)
KEK = bytes.fromhex(re.search('secret = "([0-9a-f]+)"', open(f"{HERE}/v1.key").read()).group(1))
CONTENT = b"".join(b"%07d\n" % number for number in range(2000))

def part(x):
    return struct.pack(">Q", len(x)) + x

def subkey(secret, purpose, context, length=32):
    info = b"sealstone 1" + part(purpose) + b"".join(map(part, context)) + struct.pack(">Q", length)
    return HKDF(SHA256(), length, None, info).derive(secret)

def counter(c):
    return bytes(4) + struct.pack(">Q", c)

def opened(key, nonce, sealed, associated):
    return AESGCM(key).decrypt(nonce, sealed, associated)

def stored(name):
    return bytes.fromhex(open(f"{HERE}/{name}.hex").read().replace("\n", ""))

def header(file, layout, kind):
    """Returns file id and data key, from both copies of the header."""
    assert file[:512] == file[4096:4608]
    slot = file[:512]
    assert slot[:14] == b"\x89SEALST\n" + struct.pack(">HBB", 1, layout, kind) + CIPHER_ID
    file_id, salt = slot[24:40], slot[40:56]
    assert slot[64:68] == KEY_VERSION and slot[72:72 + slot[68]] == KEY_ID
    key = subkey(KEK, b"wrap", [file_id, salt, CIPHER_ID, KEY_ID, KEY_VERSION])
    return file_id, opened(key, counter(0), slot[136:184], slot[:136] + bytes(48) + slot[184:])

def pages(file):
    file_id, dek = header(file, 1, 0)
    key = subkey(dek, b"pages", [file_id, CIPHER_ID, bytes(8)])
    page_bytes, data, at, number = struct.unpack(">I", file[16:20])[0], b"", 8192, 0
    while at < len(file):
        end = min(at + page_bytes + 16, len(file))
        associated = file_id + struct.pack(">QII", number, end - at - 16, end == len(file))
        data += opened(key, counter(number * page_bytes // 16), file[at:end], associated)
        at, number = end, number + 1
    return data

def frames(file, at, kind):
    file_id, dek = header(file, 2, kind)
    key = subkey(dek, b"frames", [file_id, CIPHER_ID, bytes(8)])
    mark = opened(subkey(dek, b"synced", [file_id]), counter(0), file[2048:2064], file_id) if any(file[2048:2064]) else None
    found = []
    while at < len(file):
        length, random = struct.unpack(">I4s", file[at:at + 8])
        nonce = random + struct.pack(">Q", len(found))
        associated = file_id + struct.pack(">QQI", len(found), at, length)
        found.append(opened(key, nonce, file[at + 8:at + 24 + length], associated))
        at += 24 + length
    return found, mark, dek

def names(data):
    """Returns the names of the entries in the list and the changes of a catalogue."""
    at, found = 1 + 16 + 8 + 8 + 8, []
    while at < len(data):
        assert data[at] == 2
        length = data[at + 1]
        found.append(data[at + 2:at + 2 + length])
        at += 2 + length + 16 + 1 + 2 + 8 + 1
    return found

def slot(file, dek, number, log):
    at = 8192 + 64 * number
    file_id, synced, tag = file[at:at + 16], file[at + 16:at + 24], file[at + 24:at + 40]
    assert file_id == log
    opened(subkey(dek, b"synced slot", [struct.pack(">H", number), log]), bytes(4) + synced, tag, log)
    return struct.unpack(">Q", synced)[0]

def block(block, bound):
    head, salt, padding = block[:48], block[20:36], struct.unpack(">H", block[36:38])[0]
    assert head[:8] == b"\x89SP" + bytes([1]) + CIPHER_ID + bytes([0b11100, 0]) and head[8:12] == KEY_VERSION
    assert head[12:20] == subkey(KEK, b"engine page key", [KEY_ID], 8)
    sealed, tag = block[48:-32 - padding], block[-32:-16]
    assert not any(block[-32 - padding:-32])
    return opened(subkey(KEK, b"engine page", [salt, CIPHER_ID]), head[36:48], sealed + tag, head + bound)

if __name__ == "__main__":
    assert pages(stored("v1-aes-256-paged")) == CONTENT[:9000]
    print("v1-aes-256-paged: 9,000 bytes")
    found, mark, _ = frames(stored("v1-aes-256-frames"), 8192, 0)
    assert list(map(len, found)) == [1, 8, 100, 3000, 1] and b"".join(found) == CONTENT[:3110] and mark == b""
    print("v1-aes-256-frames: 5 frames, 3,110 bytes, marked as synced")
    catalogue = stored("v1-aes-256-catalogue")
    found, _, dek = frames(catalogue, 40960, 6)
    assert names(b"".join(found)) == [b"000004.log", b"CURRENT", b"MANIFEST-000005", b"000008.sst"]
    assert slot(catalogue, dek, 1, bytes([3]) * 16) == 9000
    print("v1-aes-256-catalogue: 4 files, 9,000 bytes of 000004.log synced")
    assert block(stored("engine-page-v1-aes-256"), b"01234567") == CONTENT[:3000]
    print("engine-page-v1-aes-256: 3,000 bytes")
