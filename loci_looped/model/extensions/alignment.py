"""Cells of the latent grid on the middle of the pixels they cover.

The paper puts the outermost cells on the outermost pixels, so that places are off by up to one and a half pixels at the
border.
"""

from __future__ import annotations

from torch import Tensor

from ..blocks import gaussian_map, grid
from ..decoder import Decoder
from ..encoder import Encoder
from ..state import SlotCodes


class AlignedEncoder(Encoder):
    def cell_centres(self, like: Tensor) -> tuple[Tensor, Tensor]:
        rows, columns = (
            grid(n, like, pixels) for n, pixels in zip(self.config.latent, self.config.frame, strict=True)
        )
        return rows, columns


class AlignedDecoder(Decoder):
    def maps(self, codes: SlotCodes) -> Tensor:
        return gaussian_map(codes.position, codes.size, self.config.latent, self.config.frame)
