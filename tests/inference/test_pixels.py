"""Bytes and tensors: there and back again without loss."""

from __future__ import annotations

import numpy as np
import torch
from clairvoyant import SIZE, clip_of

from loci_looped.inference.pixels import backgrounds_of, frames_at, to_bytes, to_picture, to_tensor


def test_every_byte_survives_the_way_to_a_tensor_and_back() -> None:
    picture = np.arange(256 * 3, dtype=np.uint8).reshape(16, 16, 3)
    assert np.array_equal(to_picture(to_tensor(picture)), picture)
    assert np.array_equal(to_picture(to_tensor(picture[None])), picture)


def test_channels_come_first_whatever_stands_before_them() -> None:
    pictures = np.random.default_rng(0).integers(0, 256, (2, 5, 4, 6, 3), dtype=np.uint8)
    tensor = to_tensor(pictures)
    assert tensor.shape == (2, 5, 3, 4, 6) and float(tensor.max()) <= 1
    assert torch.equal(tensor[1, 3], to_tensor(pictures[1, 3]))


def test_what_lies_outside_is_cut_off() -> None:
    assert to_bytes(torch.tensor([-1.0, 0.0, 0.5, 1.0, 7.0])).tolist() == [0, 0, 128, 255, 255]


def test_clips_side_by_side() -> None:
    clips = [clip_of(0), clip_of(1)]
    assert frames_at(clips, 3).shape == backgrounds_of(clips).shape == (2, 3, *SIZE)
    assert np.array_equal(to_picture(frames_at(clips, 3)[1]), clips[1].frames[3])
