"""The encoder sees its own object as it was painted into the prediction: a third of the decoding is saved."""

from __future__ import annotations

from torch import Tensor

from ..active import Active
from ..decoder import Decoder
from ..state import Decoded, SlotCodes


class PaintedObjects(Decoder):
    def own_objects(self, expected: Decoded, previous: SlotCodes, bound: Tensor, active: Active) -> Tensor:
        return expected.object_logits * bound[..., None, None, None]

    def objects_after(self, predicted: SlotCodes, active: Active) -> Tensor | None:
        return None
