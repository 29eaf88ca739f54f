"""Masks and tracks for others: read back by their own tools, they are what the network believed."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import motmetrics
import numpy as np
import pytest

from loci_looped.cli.main import main
from loci_looped.data.formats import rle
from loci_looped.inference.watch import FrameResult
from loci_looped.viz.annotations import FILES, Annotations, box_of


@pytest.fixture
def written(make_moment: Callable[..., FrameResult], tmp_path: Path) -> tuple[list[FrameResult], Path]:
    """A film of twice the network's size."""
    moments = [make_moment(10.0 + 7 * number, number) for number in range(4)]
    moments = [replace(seen, picture=seen.frame.repeat(2, axis=0).repeat(2, axis=1)) for seen in moments]
    annotations = Annotations()
    for seen in moments:
        annotations.add(seen)
    annotations.write(tmp_path)
    return moments, tmp_path


def test_arrays_hold_what_was_believed(written: tuple[list[FrameResult], Path]) -> None:
    moments, folder = written
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    stored = np.load(folder / "masks.npz")
    for t, seen in enumerate(moments):
        bound = seen.bound.numpy()[:, None, None]
        assert (stored["whole"][t] == (seen.belief.whole_masks[0].numpy() > 0.5) & bound).all()
        assert (stored["visible"][t] == (seen.belief.visible_masks()[0].numpy() > 0.5) & bound).all()
    assert stored["frame"].tolist() == [0, 1, 2, 3] and (stored["visible"] <= stored["whole"]).all()


def test_coco_has_a_mask_a_box_and_a_track_for_every_object(written: tuple[list[FrameResult], Path]) -> None:
    moments, folder = written
    for part in ("visible", "whole"):
        found = json.loads((folder / f"masks-{part}.json").read_text(encoding="utf-8"))
        assert [image["id"] for image in found["images"]] == [1, 2, 3, 4]
        height, width = moments[0].picture.shape[:2]
        assert len({annotation["id"] for annotation in found["annotations"]}) == len(found["annotations"]) > 4
        for annotation in found["annotations"]:
            mask = rle.decode(annotation["segmentation"])
            assert mask.shape == (height, width) and mask.sum() == annotation["area"] > 0
            assert tuple(annotation["bbox"]) == box_of(mask)
            assert annotation["category_id"] in {category["id"] for category in found["categories"]}
            seen = moments[annotation["image_id"] - 1]
            assert bool(seen.bound[annotation["track_id"] - 1])


def test_a_hidden_object_has_a_track_but_no_visible_mask(written: tuple[list[FrameResult], Path]) -> None:
    """The mover of these moments goes behind the screen: it keeps its box, with a confidence of what can be seen."""
    moments, folder = written
    visible = json.loads((folder / "masks-visible.json").read_text(encoding="utf-8"))["annotations"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tracks = motmetrics.io.loadtxt(folder / "tracks.csv", fmt="mot15-2D")
    listed = {(frame, slot) for frame, slot in tracks.index}
    assert listed == {(seen.number + 1, slot + 1) for seen in moments for slot in np.flatnonzero(seen.bound.numpy())}
    for (frame, slot), row in tracks.iterrows():
        seen = moments[frame - 1]
        assert row["Confidence"] == pytest.approx(1 - float(seen.occlusion[slot - 1]), abs=1e-3)
        whole = seen.belief.whole_masks[0, slot - 1].numpy() > 0.5
        scale = seen.picture.shape[0] / whole.shape[0]
        left, top, width, height = box_of(whole)
        # motmetrics counts pixels from 0, the file from 1.
        assert np.allclose([row["X"], row["Y"], row["Width"], row["Height"]],
                           np.array([left, top, width, height]) * scale, atol=1.5 * scale)
    assert {(one["image_id"], one["track_id"]) for one in visible} < listed


def test_the_command_writes_them_beside_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["watch", "vanish:seed=3", "--start", "8", "--stop", "14", "--masks", "--out", str(tmp_path / "out")]
    assert main(line) == 0
    assert "masks.npz" in capsys.readouterr().out
    there = {path.name for path in (tmp_path / "out").iterdir()}
    assert there == {*FILES, "film.mp4", "table.csv", "curves.png", "index.html"}
    assert np.load(tmp_path / "out" / "masks.npz")["whole"].shape == (6, 5, 40, 60)
