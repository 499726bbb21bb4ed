"""Take a file of Flax or a folder of Orbax apart. Run as a program: `saved_file.py FILE FOLDER`.

Nothing is unpickled: files of Flax are MessagePack, read without Flax, and Orbax keeps arrays of
TensorStore beside their names in JSON. Half numbers become float32, which holds all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from crosscast.state.saved_tree import HALF, REAL, Node, RefusedError, SavedTree, report

_ARRAY, _SCALAR = 1, 3
"""Types of MessagePack extensions that Flax writes."""
_CHUNKED = "__msgpack_chunked_array__"
_METADATA = "_METADATA"
"""The file that makes a folder a state of Orbax."""
_MANY = 5


class ArrayTree(SavedTree):
    """A tree with arrays of NumPy."""

    def tensor(self, value: Any) -> Node | None:
        """Keep an array of numbers; others are only named."""
        if not isinstance(value, np.ndarray | np.generic):
            return None
        array, dtype = np.asarray(value), str(value.dtype)
        if dtype not in (*REAL, *HALF):
            return {"kind": "other", "value": f"array of {dtype}"}
        self.charge(array.nbytes)
        wide = array.astype(np.float32) if dtype in HALF else array
        return self.keep(np.ascontiguousarray(wide).reshape(array.shape), dtype)


def take_apart(file: Path, folder: Path) -> None:
    """Write the contents of the file or folder into the folder.

    Raises:
        RefusedError: for what is no state of Flax or Orbax.
    """
    if file.is_dir():
        size = sum(path.stat().st_size for path in file.rglob("*") if path.is_file())
        tree = ArrayTree(size)
        contents = _of_orbax(file, tree)
    else:
        tree = ArrayTree(file.stat().st_size)
        contents = _of_flax(file)
    tree.write(tree.node(contents), folder)


def _of_flax(file: Path) -> Any:
    """Return the contents of a file of `flax.serialization`."""
    import msgpack

    content = file.read_bytes()
    try:
        tree = msgpack.unpackb(content, ext_hook=_extension, strict_map_key=False)
    except Exception as error:  # whatever bytes that others wrote make NumPy and msgpack raise
        hint = "save flax.serialization.to_bytes(state), or a folder of Orbax"
        raise RefusedError(f"not a file of Flax: {error}"[:300], hint) from None
    return _joined(tree)


def _extension(kind: int, data: bytes) -> Any:
    """Return an array: its shape, the name of its type, and its bytes."""
    import ml_dtypes
    import msgpack

    if kind not in (_ARRAY, _SCALAR):
        return msgpack.ExtType(kind, b"")
    shape, name, content = msgpack.unpackb(data, strict_map_key=False)
    name = name.decode() if isinstance(name, bytes) else name
    dtype = np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)
    if dtype.hasobject:
        raise ValueError("an array of objects")
    return np.frombuffer(content, dtype).reshape(shape)


def _joined(tree: Any) -> Any:
    """Return a tree with arrays that Flax had cut into chunks."""
    if isinstance(tree, list):
        return [_joined(value) for value in tree]
    if not isinstance(tree, dict):
        return tree
    if _CHUNKED not in tree:
        return {key: _joined(value) for key, value in tree.items()}
    shape, chunks = ([*tree[part].values()] for part in ("shape", "chunks"))
    return np.concatenate(chunks).reshape(shape)


def _of_orbax(folder: Path, tree: SavedTree) -> Any:
    """Return the contents of a folder of Orbax."""
    import jax

    jax.config.update("jax_platforms", "cpu")  # before the first device is asked for
    import orbax.checkpoint as ocp

    if not (folder / _METADATA).is_file():
        names = [str(path.parent.relative_to(folder)) for path in _states(folder)]
        hint = f"give one of its folders: {', '.join(sorted(names)[:_MANY])}" if names else ""
        raise RefusedError(f"has no {_METADATA}: not a state of Orbax", hint)
    with ocp.PyTreeCheckpointer() as checkpointer:
        arrays = checkpointer.metadata(folder).item_metadata.tree
        is_array = ocp.metadata.value.ArrayMetadata
        plain = [leaf for leaf in jax.tree.leaves(arrays) if isinstance(leaf, is_array)]
        if sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in plain) > tree.left:
            raise RefusedError("its tensors are larger than the folder")
        ways = jax.tree.map(lambda leaf: _way(leaf, is_array, ocp), arrays)
        restored = checkpointer.restore(folder, restore_args=ways)
    return jax.tree.map(_plain, restored, is_leaf=lambda value: isinstance(value, jax.Array))


def _way(leaf: Any, is_array: type, ocp: Any) -> Any:
    """Return how a leaf is restored: arrays as those of NumPy, on whatever device they were."""
    return ocp.RestoreArgs(restore_type=np.ndarray if isinstance(leaf, is_array) else None)


def _plain(leaf: Any) -> Any:
    """Return an array of NumPy; the data of a random key."""
    import jax

    if not isinstance(leaf, jax.Array):
        return leaf
    keyed = jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(leaf) if keyed else leaf)


def _states(folder: Path) -> Iterator[Path]:
    """Yield the metadata of states in the folders of a manager: `STEP/NAME`."""
    for depth in ("*", "*/*"):
        yield from folder.glob(f"{depth}/{_METADATA}")


if __name__ == "__main__":
    report(take_apart)
