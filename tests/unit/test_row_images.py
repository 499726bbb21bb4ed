"""Folders of images as emitted scripts read them."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from row_sources import runtime, told


def opened(path: Path, **facts: Any) -> Any:
    return runtime().open_rows(path, told("images", **facts), path.parent)


def message(error: BaseException, *words: str) -> str:
    assert type(error).__name__ == "Stop", repr(error)
    assert [word for word in words if word not in str(error)] == [], str(error)
    return str(error)


def colours(seed: int, height: int = 4, width: int = 6) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3)).astype(np.uint8)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for count, name in enumerate(("cat", "ant", "bee")):
        (tmp_path / "train" / name).mkdir(parents=True)
        for i in range(2):
            image = Image.fromarray(colours(10 * count + i))
            image.save(tmp_path / "train" / name / f"{i}.png")
    return tmp_path / "train"


def test_classes_are_in_alphabetical_order(folder: Path) -> None:
    rows = opened(folder)
    assert len(rows) == 6
    batch = rows.rows(np.array([4, 1, 2]))
    np.testing.assert_array_equal(batch["labels"], [2, 0, 1])
    assert batch["labels"].dtype == np.int64
    assert batch["images"].dtype == np.float32
    for image, seed in zip(batch["images"], (0, 11, 20), strict=True):
        np.testing.assert_array_equal(image, colours(seed).astype(np.float32) / 255)


def test_hidden_files_and_folders_are_left_out(folder: Path) -> None:
    (folder / ".ipynb_checkpoints").mkdir()
    (folder / ".DS_Store").write_bytes(b"x")
    (folder / "ant" / "._0.png").write_bytes(b"x")
    rows = opened(folder)
    assert len(rows) == 6
    np.testing.assert_array_equal(rows.rows(np.arange(6))["labels"], [0, 0, 1, 1, 2, 2])


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "CMYK", "YCbCr"])
def test_other_colours_become_red_green_and_blue(folder: Path, mode: str) -> None:
    image = Image.fromarray(colours(5)).convert(mode)
    suffix = "tiff" if mode in ("CMYK", "YCbCr") else "png"
    image.save(folder / "ant" / f"0.{suffix}")
    if suffix != "png":
        (folder / "ant" / "0.png").unlink()
    found = opened(folder).rows(np.arange(1))["images"][0]
    np.testing.assert_array_equal(found, np.asarray(image.convert("RGB"), np.float32) / 255)


def test_a_palette_with_transparency_is_read(folder: Path) -> None:
    image = Image.fromarray(colours(5)).convert("P")
    image.save(folder / "ant" / "0.png", transparency=bytes(range(256)))
    assert opened(folder).rows(np.arange(1))["images"].shape == (1, 4, 6, 3)


@pytest.mark.parametrize("dtype", ["uint16", "int32", "float32"])
def test_more_than_8_bits_a_channel_are_refused(folder: Path, dtype: str) -> None:
    """Pillow cuts them off at 255: nearly all of such an image would be white."""
    array = np.full((4, 6), 300, dtype)
    Image.fromarray(array).save(folder / "ant" / "0.tiff")
    (folder / "ant" / "0.png").unlink()
    with pytest.raises(Exception, match="8 bits") as caught:
        opened(folder)
    message(caught.value, "0.tiff")


def test_images_of_several_sizes_need_a_size(folder: Path) -> None:
    Image.fromarray(colours(5, 5, 7)).save(folder / "bee" / "0.png")
    rows = opened(folder)
    with pytest.raises(Exception, match=r"data\.size") as caught:
        rows.rows(np.array([0, 2]))
    message(caught.value, str(folder / "bee" / "0.png"), "(5, 7)", "(4, 6)")
    resized = opened(folder, image_size=(3, 2)).rows(np.arange(6))["images"]
    assert resized.shape == (6, 3, 2, 3)


def test_a_damaged_image_ends_the_run(folder: Path) -> None:
    whole = (folder / "bee" / "1.png").read_bytes()
    for content in (b"", whole[:40], whole[:-30], b"GIF89a"):
        (folder / "bee" / "1.png").write_bytes(content)
        rows = opened(folder)
        with pytest.raises(Exception, match="cannot read") as caught:
            rows.rows(np.array([0, 3]))
        message(caught.value, str(folder / "bee" / "1.png"))


@pytest.mark.parametrize("name", ["README.txt", "labels.csv", "noext"])
def test_a_file_that_is_no_image_is_refused_at_once(folder: Path, name: str) -> None:
    (folder / "bee" / name).write_text("x")
    with pytest.raises(Exception, match="no image") as caught:
        opened(folder)
    message(caught.value, str(folder / "bee" / name))


def test_folders_in_the_folder_of_a_class_are_refused(folder: Path) -> None:
    (folder / "bee" / "more").mkdir()
    with pytest.raises(Exception, match="no image") as caught:
        opened(folder)
    message(caught.value, str(folder / "bee" / "more"))


def test_images_without_classes_are_refused(folder: Path) -> None:
    for path in (folder / "ant", folder.parent / "none"):
        with pytest.raises(Exception, match="folder for each class") as caught:
            opened(path)
        message(caught.value, str(path))


def test_classes_of_training_and_evaluation_must_be_the_same(folder: Path) -> None:
    """Without this, `cow` would have the number of `cat`."""
    for names in (("ant", "bee", "cow"), ("ant", "bee"), ("ant", "bee", "cat", "dog")):
        other = folder.parent / "-".join(names)
        for name in names:
            (other / name).mkdir(parents=True)
            Image.fromarray(colours(1)).save(other / name / "0.png")
        with pytest.raises(Exception, match="classes") as caught:
            runtime().open_both(folder, other, told("images"), folder.parent)
        message(caught.value, str(other), "cow" if "cow" in names else names[-1])
    same = folder.parent / "same"
    for name in ("ant", "bee", "cat"):
        (same / name).mkdir(parents=True)
        Image.fromarray(colours(1)).save(same / name / "0.jpg")
    train, evaluation = runtime().open_both(folder, same, told("images"), folder.parent)
    assert (len(train), len(evaluation)) == (6, 3)


def test_another_process_opens_them_again(folder: Path) -> None:
    rows = pickle.loads(pickle.dumps(opened(folder)))
    np.testing.assert_array_equal(rows.rows(np.arange(6))["labels"], [0, 0, 1, 1, 2, 2])
