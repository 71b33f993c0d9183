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
    assert file[:512] == file[4096:4608] and len(file) >= 8192
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

def volume_keys(file):
    """Returns what volume() needs of the file with the header."""
    volume, dek = header(file, 3, 7)
    assert file[16:20] == struct.pack(">I", 4096)
    return volume, dek

def root(volume, dek, map):
    """Returns the parts of a root: numbers of blocks, salts, runs and leaves, and generation."""
    head, length = map[:128], struct.unpack(">Q", map[40:48])[0]
    assert head[:16] == b"\x89SEALMP\n" + struct.pack(">H", 1) + bytes(6) and head[16:32] == volume
    key = subkey(dek, b"volume map", [volume, CIPHER_ID, head[48:80]])
    sealed = map[8192:8192 + length] + head[80:96]
    data = opened(key, counter(0), sealed, head[:80] + bytes(16) + head[96:])
    blocks, salts, runs, leaves = struct.unpack(">QIII", data[:20])
    pieces, at = [], 20
    for count, size in [(salts, 32), (runs, 20), (leaves, 32)]:
        pieces.append([data[at + size * i:at + size * (i + 1)] for i in range(count)])
        at += size * count
    assert at == len(data)
    return blocks, *pieces, struct.unpack(">Q", head[32:40])[0], 8192 + length

def binding(volume, kind, epoch, number):
    return volume + struct.pack(">IIQ", kind, epoch, number)

def piece(volume, dek, salts, entry, kind, number, sealed, associated=b"", before=b""):
    """Opens what has `entry`; `associated` follows the binding, `before` precedes it."""
    tag, epoch, nonce = entry[:16], struct.unpack(">I", entry[16:20])[0], entry[20:32]
    key = subkey(dek, b"volume blocks", [volume, CIPHER_ID, salts[epoch - 1], struct.pack(">Q", struct.unpack(">Q", entry[24:])[0] >> 32)])
    return opened(key, nonce, sealed + tag, before + binding(volume, kind, epoch, number) + associated)

def volume_mark(volume, dek, salts, mark):
    """Returns how many frames were synced."""
    epoch = struct.unpack(">I", mark[8:12])[0]
    key = subkey(dek, b"volume synced", [volume, CIPHER_ID, salts[epoch - 1]])
    frames = struct.unpack(">Q", mark[:8])[0]
    assert opened(key, bytes(4) + mark[:8], mark[16:], binding(volume, 5, epoch, frames)) == b""
    return frames

def page_of(data, at, entry):
    """Returns the page with `entry` of the two at `at`."""
    return data[at + 4096 * (entry[31] & 1):][:4096]

def volume(files):
    """Returns the blocks of a device of two, of which the log has the second."""
    assert files[8192 + 2048:8192 + 2080] == files[16384 + 2048:16384 + 2080]
    key = volume_keys(files)
    blocks, salts, runs, leaves, generation, length = root(*key, files[16384:])
    assert (blocks, generation, runs) == (2, 2, [struct.pack(">IQQ", 1, 0, 0)])
    assert volume_mark(*key, salts, files[10240:10272]) == 1
    data = files[16384 + length:]
    data, log = data[:16384 + 2 * 4096], data[16384 + 2 * 4096:]
    leaf = page_of(data, 0, leaves[0])
    piece(*key, salts, leaves[0], 3, 0, b"", before=leaf[:4064])
    tags = page_of(data, 8192, leaf[:32])
    piece(*key, salts, leaf[:32], 2, 0, b"", before=tags[:4064])
    assert leaf[4064:] == leaves[0] and tags[4064:] == leaf[:32] and tags[32:64] == bytes(32)
    first = piece(*key, salts, tags[:32], 1, 0, data[16384:16384 + 4096])
    own, rest = log[:32], log[32:80]
    piece(*key, salts, own, 4, 0, b"", rest)
    assert rest[:8] == struct.pack(">II", 1, 1) and rest[8:16] == struct.pack(">Q", 1 << 63 | 1)
    return first + piece(*key, salts, rest[16:48], 1, 1, log[80:])

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
    assert volume(stored("v1-aes-256-volume")) == CONTENT[:8192]
    print("v1-aes-256-volume: 2 blocks, one in place and one in the log, whose frame was synced")
