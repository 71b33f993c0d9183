"""Capsules of other libraries, well and badly made, and ours."""

import ctypes

import pyarrow
import pytest

import sealstone
from sealstone._sealstone import TableCipher


@pytest.fixture
def cipher(key):
    return TableCipher.of_column("phone=ff1:phone", "people", key)


class Only:
    """What has nothing but the given methods."""

    def __init__(self, **methods):
        for name, method in methods.items():
            setattr(self, name, method)


PHONES = pyarrow.array(["010-1234-5678", None, "010-8765-4321"])


def test_any_object_with_capsules(cipher):
    stream = Only(__arrow_c_stream__=pyarrow.chunked_array([PHONES]).__arrow_c_stream__)
    array = Only(__arrow_c_array__=PHONES.__arrow_c_array__)
    for values in [stream, array]:
        chunks, count, _ = cipher.seal(0, values)
        assert count == 0 and len(chunks) == 3
        assert pyarrow.DataType._import_from_c_capsule(chunks.__arrow_c_schema__()) == pyarrow.string()
        opened, _, _ = cipher.open(0, chunks)
        assert pyarrow.chunked_array(opened).to_pylist() == PHONES.to_pylist()
        assert pyarrow.array(opened.chunk()).equals(PHONES)


def test_ours_can_be_read_twice(cipher):
    chunks, _, _ = cipher.seal(0, pyarrow.chunked_array([PHONES, PHONES]))
    assert pyarrow.chunked_array(chunks).equals(pyarrow.chunked_array(chunks))
    with pytest.raises(sealstone.Error, match="2 chunks where one was expected"):
        chunks.chunk()
    # and dropped unread
    chunks.__arrow_c_stream__()


def test_streams_without_arrays(cipher):
    chunks, count, _ = cipher.seal(0, pyarrow.chunked_array([], pyarrow.string()))
    assert (len(chunks), count) == (0, 0)
    assert pyarrow.chunked_array(chunks).type == pyarrow.string()


def test_what_is_no_capsule(cipher):
    schema, array = PHONES.__arrow_c_array__()
    wrong = [
        Only(__arrow_c_stream__=lambda: 5),
        Only(__arrow_c_stream__=lambda: schema),
        Only(__arrow_c_array__=lambda: (array, schema)),
        Only(__arrow_c_array__=lambda: (schema, 5)),
    ]
    for values in wrong:
        with pytest.raises(sealstone.Error, match="not a capsule called"):
            cipher.seal(0, values)
    for values in [Only(__arrow_c_array__=lambda: 5), Only(__arrow_c_array__=lambda: (schema,))]:
        with pytest.raises((TypeError, ValueError)):
            cipher.seal(0, values)

    def fails():
        raise RuntimeError("no data today")

    with pytest.raises(RuntimeError, match="no data today"):
        cipher.seal(0, Only(__arrow_c_stream__=fails))
    with pytest.raises(sealstone.Error, match="neither"):
        cipher.seal(0, object())


def test_capsules_that_were_used_up(cipher):
    pair = PHONES.__arrow_c_array__()
    values = Only(__arrow_c_array__=lambda: pair)
    cipher.seal(0, values)
    with pytest.raises(sealstone.Error, match="malformed Arrow data"):
        cipher.seal(0, values)
    capsule = pyarrow.chunked_array([PHONES]).__arrow_c_stream__()
    values = Only(__arrow_c_stream__=lambda: capsule)
    cipher.seal(0, values)
    with pytest.raises(sealstone.Error, match="malformed Arrow data"):
        cipher.seal(0, values)


def test_streams_that_fail(policy):
    def batches():
        yield pyarrow.record_batch({"phone": ["010-1234-5678"]})
        raise OSError("the disk is gone")

    reader = pyarrow.RecordBatchReader.from_batches(pyarrow.schema([("phone", pyarrow.string())]), batches())
    with pytest.raises(OSError, match="the disk is gone"):
        sealstone.seal(reader, policy)


def test_text_that_is_not_utf8(cipher):
    for kind, width in [(pyarrow.string(), "i4"), (pyarrow.large_string(), "i8")]:
        size = 4 if width == "i4" else 8
        offsets = b"".join(number.to_bytes(size, "little") for number in [0, 2, 4])
        buffers = [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(b"ab\xff\xfe")]
        with pytest.raises(sealstone.Error, match="malformed Arrow data"):
            cipher.seal(0, pyarrow.Array.from_buffers(kind, 2, buffers))


def test_offsets_that_make_no_sense(cipher):
    for ends in [[0, 4, 2], [3, 2, 4], [0, 2**31 - 1, 4], [0, -1, 4]]:
        offsets = b"".join((number % 2**32).to_bytes(4, "little") for number in ends)
        buffers = [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(b"abcd")]
        with pytest.raises(sealstone.Error, match="malformed Arrow data"):
            cipher.seal(0, pyarrow.Array.from_buffers(pyarrow.string(), 2, buffers))


class ArrowArray(ctypes.Structure):
    """The first fields of the C data interface's structure."""

    _fields_ = [(name, ctypes.c_int64) for name in ["length", "null_count", "offset", "n_buffers", "n_children"]]


WRONG = [("length", -5), ("length", 2**62), ("offset", -1), ("n_buffers", 1), ("n_buffers", 0), ("n_buffers", -1)]


@pytest.mark.parametrize("kind", [pyarrow.string(), pyarrow.string_view()])
@pytest.mark.parametrize(("field", "value"), WRONG)
def test_structures_that_make_no_sense(cipher, field, value, kind):
    schema, array = PHONES.cast(kind).__arrow_c_array__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    setattr(ArrowArray.from_address(pointer(array, b"arrow_array")), field, value)
    with pytest.raises(sealstone.Error, match="malformed Arrow data"):
        cipher.seal(0, Only(__arrow_c_array__=lambda: (schema, array)))


@pytest.mark.parametrize(("field", "value"), WRONG)
def test_dictionaries_that_make_no_sense(cipher, field, value):
    schema, array = PHONES.dictionary_encode().__arrow_c_array__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    # five numbers, buffers, children, then the dictionary
    entries = ctypes.c_void_p.from_address(pointer(array, b"arrow_array") + 7 * 8).value
    setattr(ArrowArray.from_address(entries), field, value)
    with pytest.raises(sealstone.Error, match="malformed Arrow data"):
        cipher.seal(0, Only(__arrow_c_array__=lambda: (schema, array)))


def test_numbers_of_no_entry(cipher):
    for number in [2, -1]:
        wrong = pyarrow.DictionaryArray.from_arrays(
            pyarrow.array([0, number], pyarrow.int8()), PHONES.drop_null(), safe=False
        )
        with pytest.raises(sealstone.Error, match="malformed Arrow data"):
            cipher.seal(0, wrong)


def test_tables_are_no_columns(cipher):
    with pytest.raises(sealstone.Error, match="text alone can"):
        cipher.seal(0, pyarrow.table({"phone": PHONES}))
    with pytest.raises(sealstone.Error, match="no column number 1"):
        cipher.seal(1, PHONES)
