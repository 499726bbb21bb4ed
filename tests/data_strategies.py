"""Hypothesis strategies for the data of recipes: every source, every option."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from value_strategies import factories, paths, rarely, sizes


@st.composite
def data_sets(draw: st.DrawFn, model: dict[str, Any], counted: bool) -> dict[str, Any]:
    """Data of a data set; `counted` if the loss is of labels, not of rows."""
    bert = model["kind"] == "bert"
    source = draw(st.sampled_from(("synthetic" if bert else "images", "npz", "npz", *SOURCES)))
    common = {"source": source, "shuffle": draw(st.booleans())}
    if draw(rarely(3)):
        common["workers"] = draw(st.sampled_from((1, 4, 1024)))
    if source == "synthetic":
        rows = draw(sizes)
        length = draw(st.integers(9, 32))
        return common | {"train_rows": rows, "eval_rows": rows, "sequence_length": length}
    places = factories if source == "custom" else paths
    common |= {"train": draw(places), "eval": draw(places)}
    if source == "images":
        return common | {"size": draw(st.none() | st.just((32, 2**31 - 1)))}
    if source in ("parquet", "datasets", "custom"):
        common |= draw(bert_paddings() if bert else own_paddings(counted))
    return common | {"sequence_length": draw(st.integers(1, 32))}


SOURCES = ("npy", "parquet", "datasets", "custom")


def bert_paddings() -> st.SearchStrategy[dict[str, Any]]:
    """Data of the padding of tokens."""
    values = {
        "input_ids": st.integers(0, 31).map(float),
        "attention_mask": st.just(0.0),
        "token_type_ids": st.sampled_from((0.0, 1.0)),
    }
    padded = {
        "pad_to_multiple_of": st.sampled_from((1, 8, 32)),
        "pad_values": st.fixed_dictionaries({}, optional=values),
    }
    return st.fixed_dictionaries({}, optional=padded)


def own_paddings(counted: bool) -> st.SearchStrategy[dict[str, Any]]:
    """Data of the padding of arrays for a custom model."""
    # Labels are padded only where they are counted; losses have the targets below.
    arrays = st.sampled_from(("x", "y1", "x" * 64, *(("labels", "y") if counted else ())))
    values = st.sampled_from((0.0, -1.0, 0.1, -(2.0**63), 1e-300)) | st.floats(-1e18, 1e18)
    padded = {
        "pad_to_multiple_of": st.sampled_from((1, 7, 2**16)),
        "pad_values": st.dictionaries(arrays, values, max_size=3),
    }
    return st.fixed_dictionaries({}, optional=padded)
