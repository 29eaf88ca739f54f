"""A moment made by hand: a screen, a mover of which as much is hidden as one likes, and a slot that holds nothing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from loci_looped.inference.belief import Belief
from loci_looped.inference.surprise import Surprise
from loci_looped.inference.watch import FrameResult
from loci_looped.model.state import Decoded, SlotCodes, StepOutput

SIZE = (40, 60)
SCREEN, MOVER, EMPTY = 0, 1, 2
SCREEN_COLUMNS = slice(20, 40)


def moment(column: float = 30.0, number: int = 0, surprise: float = 0.0) -> FrameResult:
    """The mover's centre is in row 20 at `column`; the screen covers rows 10 to 30 and columns 20 to 40."""
    height, width = SIZE
    rows, columns = np.mgrid[:height, :width]
    whole = np.zeros((3, height, width), np.float32)
    whole[SCREEN, 10:30, SCREEN_COLUMNS] = 1
    whole[MOVER] = np.hypot(rows - 20, columns - column) < 5
    colours = np.zeros((3, 3, height, width), np.float32)
    colours[SCREEN, 2], colours[MOVER, 0] = 0.8, 0.9
    belief = Belief(torch.from_numpy(whole)[None], torch.from_numpy(colours)[None], torch.tensor([[2.0, 1.0, 0.0]]))
    position = torch.tensor([[[19.5, 29.5], [20.0, column], [0.0, 0.0]]])
    position = position / (torch.tensor(SIZE) - 1) * 2 - 1
    codes = SlotCodes(torch.zeros(1, 3, 8), position, torch.zeros(1, 3), torch.tensor([[2.0, 1.0, 0.0]]))
    visible = belief.visible_masks()
    background = torch.full((1, 3, height, width), 0.5)
    full = Decoded(belief.picture(background), torch.cat([visible, 1 - visible.sum(1, keepdim=True)], 1),
                   belief.whole_masks, torch.logit(belief.whole_colours, eps=1e-6) + 2.5)
    hidden = 1 - visible.sum((2, 3)) / belief.whole_masks.sum((2, 3)).clamp(min=1)
    bound = torch.tensor([[True, True, False]])
    output = StepOutput(
        sensed=codes, percept=codes, predicted=codes, previous=codes, gate=torch.tensor([[[0.4, 0.9]] * 3]),
        present=full, next_frame=full, occlusion=hidden, occlusion_next=hidden, assigned=bound, bound=bound,
        visibility=hidden, error=torch.zeros(1, 1, height, width), slot_error=torch.zeros(1, 3),
        objects_before=belief.whole_colours, objects_after=None,
    )
    frame = (full.frame[0].permute(1, 2, 0) * 255).round().to(torch.uint8).numpy()
    behind = np.full((height, width, 3), 128, np.uint8)
    amazement = Surprise(torch.full((1, 3), surprise), torch.zeros(1))
    return FrameResult(number, number / 8.0, frame, frame, behind, frame, output, belief, amazement, screen=SCREEN)


@pytest.fixture
def make_moment() -> Callable[..., FrameResult]:
    return moment
