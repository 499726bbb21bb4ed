"""Damaged data files: emitted scripts refuse them with exit code 2, or read the undamaged rows."""

from __future__ import annotations

import io
import struct
import sys
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crosscast.data.npz import Dataset
from crosscast.emit.compiler import compile_recipe
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe.document import Recipe
from frameworks.emitted_script import tiny_recipe
from runtime_texts import PACKAGE, settings_of, sources_module

TARGETS = ("torch", "tensorflow", "paddle")
ROWS: dict[str, np.ndarray] = {
    "input_ids": np.arange(40).reshape(5, 8),
    "attention_mask": np.ones((5, 8), bool),
    "token_type_ids": np.zeros((5, 8), np.uint16),
    "labels": np.array([0, 1, 2, 0, 1], np.int32),
}


def own_recipe() -> Recipe:
    rows = {"source": "npz", "train": "train.npz", "eval": "eval.npz"}
    factory = dict.fromkeys(TARGETS, "own:build_model")
    return tiny_recipe(model={"kind": "custom", "factory": factory}, data=rows)


def of_crosscast(path: Path) -> Any:
    """Read a file as `crosscast parity` does."""
    return Dataset.load(path).arrays()


RECIPES = {"bert": tiny_recipe, "own": own_recipe}
READERS = (*RECIPES, "crosscast")
# NumPy does not close a file whose zip directory is damaged.
UNCLOSED = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@cache
def files(target: str, model: str) -> dict[str, str]:
    """Return the texts of an emitted script."""
    (compiled,) = compile_recipe(RECIPES[model](), [target])
    return {path: file.text for path, file in compiled.files.items()}


@cache
def reader(model: str) -> Any:
    if model == "crosscast":
        return of_crosscast
    texts = files("torch", model)
    read, settings = sources_module(texts).read_rows, settings_of(texts)
    return lambda path: read(path, settings)


def npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def header(text: str, version: bytes = b"\x01\x00", data: bytes = bytes(40)) -> bytes:
    """Return an .npy file with a header of these words."""
    size = struct.pack("<H" if version == b"\x01\x00" else "<I", len(text))
    return b"\x93NUMPY" + version + size + text.encode("latin1") + data


def described(shape: str, descr: str = "'<i8'", order: str = "False") -> str:
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"


def archive(*members: tuple[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", method) as file:
        warnings.simplefilter("ignore")  # of two members of one name
        for name, content in members:
            file.writestr(name, content)
    return buffer.getvalue()


def with_flag(content: bytes, flag: int) -> bytes:
    """Return a zip file that says of its members that they are encrypted, or the like."""
    changed = bytearray(content)
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = -1
        while (place := content.find(mark, place + 1)) >= 0:
            changed[place + at] |= flag
    return bytes(changed)


MEMBERS = [(f"{name}.npy", npy(array)) for name, array in ROWS.items()]
LABELS = {
    "a petabyte": header(described("(125000000000000,)")),
    "more than 64 bits": header(described(f"({2**70},)")),
    "a product beyond 64 bits": header(described(f"({2**40}, {2**40})")),
    "a negative length": header(described("(-5,)")),
    "a shape of numbers with commas": header(described("(5.0,)")),
    "a deep shape": header(described("(" * 3000 + ")" * 3000)),
    "a nul in the header": header(described("(5,)\0")),
    "no dictionary": header("[5]\n"),
    "other keys": header("{'shape': (5,)}\n"),
    "an unknown type": header(described("(5,)", "'<q9'")),
    "an order that is no boolean": header(described("(5,)", order="7")),
    "objects": header(described("(5,)", "'|O'")),
    "text": npy(np.array(list("abcde"))),
    "bytes": npy(np.array([b"a"] * 5)),
    "dates": npy(np.zeros(5, "M8[s]")),
    "fields": npy(np.zeros(5, "i4,f4")),
    "complex": npy(np.zeros(5, complex)),
    "empty fields": npy(np.zeros(5, "V0")),
    "version 9": header(described("(5,)"), b"\x09\x00"),
    "a header longer than the file": b"\x93NUMPY\x02\x00\xff\xff\xff\x7f",
    "a long header": header(described("(5,)") + " " * 20_000, b"\x02\x00"),
    "half of the numbers": npy(ROWS["labels"])[:-7],
    "nothing": b"",
    "no npy": b"0 1 2 0 1\n",
    "too large": npy(np.full(5, 2**64 - 1, np.uint64)),
    "not a number": npy(np.full(5, np.nan)),
    "no length": npy(np.array(1)),
    "no rows": npy(np.zeros(0, int)),
    "another length": npy(np.zeros(4, int)),
}


def absurd() -> dict[str, bytes]:
    """Return files that must be refused."""
    found = {
        name: archive(*MEMBERS[:3], ("labels.npy", content)) for name, content in LABELS.items()
    }
    whole = archive(*MEMBERS)
    return found | {
        "a password": with_flag(whole, 1),
        "strong encryption": with_flag(whole, 0x41),
        "patched data": with_flag(whole, 0x20),
        "an unknown compression": whole.replace(
            b"PK\x03\x04\x14\x00\x00\x00\x00\x00", b"PK\x03\x04\x14\x00\x00\x00\x63\x00"
        ).replace(
            b"PK\x01\x02\x14\x03\x14\x00\x00\x00\x00\x00",
            b"PK\x01\x02\x14\x03\x14\x00\x00\x00\x63\x00",
        ),
        "two arrays of one name": archive(*MEMBERS, MEMBERS[0]),
        "one name with and without its end": archive(*MEMBERS, ("labels", MEMBERS[3][1])),
        "no arrays": archive(),
        "one array": MEMBERS[0][1],
        "a pickle": b"\x80\x04K\x01.",
        "an npz in an npz": archive(("labels.npz", whole)),
        "nothing": b"",
    }


def damaged(seed: int) -> Iterator[bytes]:
    """Yield files with some bytes changed, cut, doubled or moved, in several compressions."""
    rng = np.random.default_rng(seed)
    methods = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
    for count in range(600):
        whole = archive(*MEMBERS, method=methods[count % 4])
        at, end = sorted(rng.integers(0, len(whole), 2).tolist())
        changed = bytearray(whole)
        kind = count // 4 % 5
        if kind == 0:
            changed[at] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            changed[at : at + 8] = rng.bytes(8)
        elif kind == 2:
            del changed[end:]
        elif kind == 3:
            del changed[at : at + 3]
        else:
            changed[at:at] = whole[at:end]
        yield bytes(changed)


def outcome(read: Any, path: Path) -> str:
    """Return whether the rows are refused, equal or others; anything else raised is a traceback."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = read(path)
    except DiagnosticError as error:
        return "refused" if str(path) in error.diagnostics[0].message else "no path"
    except Exception as stop:
        if type(stop).__name__ != "Stop":
            return f"traceback: {stop!r}"
        told = vars(stop)["exit_code"] == 2 and str(path) in str(stop)
        return "refused" if told and not str(stop).endswith(": ") else repr(stop)
    same = rows.keys() == ROWS.keys() and all(np.array_equal(rows[n], ROWS[n]) for n in ROWS)
    return "equal" if same else "others"


@pytest.mark.parametrize("model", RECIPES)
def test_all_targets_read_rows_by_the_same_functions(model: str) -> None:
    for module in ("arrays", "formats", "rows", "sources"):
        assert len({files(target, model)[f"runtime/{module}.py"] for target in TARGETS}) == 1


def test_arrays_in_the_type_of_the_frameworks_are_not_copied() -> None:
    rows = {name: array.astype(np.int64) for name, array in ROWS.items()}
    texts = files("torch", "bert")
    module = sources_module(texts)
    read = module.checked(Path("rows.npz"), rows, settings_of(texts))
    assert all(read[name] is rows[name] for name in ROWS)
    cast = sys.modules[f"{PACKAGE}.arrays"].common_type
    for array in (np.ones((2, 3)).astype(kind) for kind in (np.int64, np.float32, bool)):
        assert cast(Path("rows.npz"), "x", array, False) is array


@UNCLOSED
@pytest.mark.parametrize("model", READERS)
def test_absurd_files_are_refused(tmp_path: Path, model: str) -> None:
    read = reader(model)
    found = {}
    for name, content in absurd().items():
        path = tmp_path / "absurd.npz"
        path.write_bytes(content)
        found[name] = outcome(read, path)
    found["a folder"] = outcome(read, tmp_path)
    found["nothing there"] = outcome(read, tmp_path / "none.npz")
    assert {name: got for name, got in found.items() if got != "refused"} == {}


@UNCLOSED
@pytest.mark.parametrize("model", READERS)
def test_damaged_files_are_refused_or_read_as_they_were(tmp_path: Path, model: str) -> None:
    read, found = reader(model), Counter[str]()
    for content in damaged(1):
        path = tmp_path / "damaged.npz"
        path.write_bytes(content)
        found[outcome(read, path)] += 1
    assert found.total() == 600
    assert found.keys() <= {"refused", "equal"}, found
    assert min(found.values()) > 20, found
