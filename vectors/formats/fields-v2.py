"""Makes fields-v2.parquet.hex and its manifest from docs/formats.md: the sealed values of fields-v1.py, as a Parquet file
by pyarrow, in hexadecimal. And people.parquet.hex, a table in the clear. Needs cryptography and pyarrow.
"""
import hmac, os, runpy, struct, sys, tempfile
import pyarrow as pa
import pyarrow.parquet as pq

here = os.path.dirname(os.path.abspath(__file__))
where = sys.argv[1] if len(sys.argv) > 1 else here
with tempfile.TemporaryDirectory() as elsewhere:
    sys.argv = ["fields-v1.py", elsewhere]
    v1 = runpy.run_path(os.path.join(here, "fields-v1.py"))
names, *rows = [line.split(",") for line in v1["lines"]]
columns = list(zip(*rows))
# a number names the rows, and a dictionary is a column of text
arrays = [pa.array([int(value) for value in columns[0]])] + [pa.array(column) for column in columns[1:]]
arrays[3] = arrays[3].dictionary_encode()
table = pa.table(arrays, names=names)

def written(table, **options):
    buffer = pa.BufferOutputStream()
    pq.write_table(table, buffer, compression="zstd", **options)
    return buffer.getvalue().to_pybytes()

def store(name, content):
    text = content.hex()
    with open(os.path.join(where, name + ".hex"), "w") as file:
        file.writelines(text[at:at + 120] + "\n" for at in range(0, len(text), 120))

content = written(table, row_group_size=2)
store("fields-v2.parquet", content)
part, subkey, context = v1["part"], v1["subkey"], v1["context"]
file_mac = hmac.digest(subkey(b"field file", context), content, "sha256")
number = struct.pack
covered = [number(">Q", 2), v1["file_id"], v1["TABLE"], v1["CIPHER_ID"], v1["KEY_ID"], v1["KEY_VERSION"], b"parquet",
           number(">Q", 3), file_mac]
for column, method, tweak, index_name, bits in sorted(v1["columns"]):
    covered += [column, method, tweak, index_name, number(">I", bits), b"\0\0"]
mac = hmac.digest(subkey(b"field manifest", context), b"".join(map(part, covered)), "sha256")
manifest = v1["manifest"].replace("version = 1\nid", "version = 2\nid")
manifest = manifest.replace('delimiter = ","\nencoding = "UTF-8"\n', 'layout = "parquet"\n')
manifest = manifest.replace(v1["file_mac"].hex(), file_mac.hex()).replace(v1["mac"].hex(), mac.hex())
open(os.path.join(where, "fields-v2.parquet.sealed.toml"), "w", encoding="utf-8").write(manifest)

store("people.parquet", written(pa.table({
    "id": [1, 2, 3], "name": ["홍길동", "김철수", None], "memo": ["first", "", None], "score": [1.5, None, 2.5],
    "tags": [["a", "b"], [], None],
})))
