"""A film strip of a validation scene: what is shown, what is expected next, and what is believed behind the screen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from loci_looped.data.clip import Clip
from loci_looped.model import GateKind, LociLooped, Regime, StepOutput
from loci_looped.model.active import Active
from loci_looped.model.state import COLOUR_SHIFT
from loci_looped.utils.atomic import replacing

EVERY = 6
SCALE = 2


def belief(output: StepOutput, objects: Tensor, background: Tensor) -> Tensor:
    """(3, H, W) of the first stream: the scene without its largest object, which is taken to be the screen."""
    masks = output.next_frame.object_masks[0] * output.bound[0, :, None, None]
    screen = int(masks.sum((1, 2)).argmax())
    picture = background[0]
    for slot in range(masks.shape[0]):
        if slot != screen:
            picture = picture * (1 - masks[slot]) + masks[slot] * torch.sigmoid(objects[0, slot] - COLOUR_SHIFT)
    return picture


@torch.no_grad()
def film_strip(model: LociLooped, clip: Clip, gate: GateKind, path: Path) -> None:
    """Rows: frame, prediction of the next frame, belief without the screen, whole-object masks of all slots."""
    was_training = model.training
    model.eval()
    frames = torch.from_numpy(clip.frames).permute(0, 3, 1, 2).float() / 255
    background = torch.from_numpy(clip.background).permute(2, 0, 1).float()[None] / 255
    regime = Regime(gate=gate)
    state = model.warm_up(frames[:1], model.initial(background), regime=regime)
    columns = []
    for t in range(len(clip)):
        state, output = model.step(frames[t : t + 1], state, regime=regime)
        if t % EVERY == 0:
            objects = model.decoder.objects(output.predicted, Active.of(output.assigned))
            masks = output.next_frame.object_masks[0] * output.assigned[0, :, None, None]
            shown = frames[t].clone()
            height, width = clip.size
            for place in output.percept.position[0][output.bound[0]]:
                row, column = (((place + 1) / 2) * torch.tensor([height - 1, width - 1])).round().long().tolist()
                if 0 <= row < height and 0 <= column < width:
                    shown[:, row, column] = 1
            grey = [mask.expand(3, -1, -1) for mask in masks]
            believed = belief(output, objects, background)
            columns.append(torch.cat([shown, output.next_frame.frame[0], believed, *grey], dim=1))
    model.train(was_training)
    picture = (torch.cat(columns, dim=2).clamp(0, 1) * 255).byte().permute(1, 2, 0).numpy()
    enlarged = np.kron(picture, np.ones((SCALE, SCALE, 1), dtype=np.uint8))
    with replacing(path) as temporary:
        Image.fromarray(enlarged).save(temporary)
