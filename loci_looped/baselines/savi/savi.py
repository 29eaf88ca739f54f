"""SAVi, one time step after the other.

    latents ──> kernel ──> corrector ──> slots ──> predictor ──> latents of the next frame
                              ^            │
                   frame ──> encoder    decoder ──> the present frame, painted again

All that changes in time is in the state: any batch size, any length, two streams at once. Nothing is random unless a
generator is given: then StoSAVi's kernels are drawn (the authors do so at test time, too), and in training mode the
transformer drops out.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from loci_looped.configs.savi import SaviConfig, preset

from .checks import check_clip, check_frame, check_state
from .decoder import BroadcastDecoder
from .encoder import FrameEncoder
from .initial import draw_weights
from .kernel import KernelHead
from .predictor import make_predictor
from .slot_attention import SlotAttention
from .state import Decoded, SaviOutput, SaviState, stack_in_time


class Savi(nn.Module):
    """The network of a configuration or of a preset's name."""

    def __init__(self, config: SaviConfig | str = "savi-small"):
        super().__init__()
        self.config = config = preset(config) if isinstance(config, str) else config
        self.start = nn.Parameter(torch.randn(config.slots, config.slot_width))     # one row per slot: they differ
        self.encoder = FrameEncoder(config.encoder)
        self.kernel_head = KernelHead(config.slot_width, config.kernel.head)
        self.corrector = SlotAttention(
            config.slot_width, config.hidden_width, config.encoder.token_width, config.corrector
        )
        self.predictor = make_predictor(config)
        self.decoder = BroadcastDecoder(config)
        if config.initial_gain:
            draw_weights(self, config.initial_gain)

    def initial(self, batch: int) -> SaviState:
        """The state of `batch` streams before their first frame."""
        latents = self.start.expand(batch, -1, -1)
        return SaviState(latents, self.predictor.initial_memory(latents))

    def step(
        self, frame: Tensor, state: SaviState, *, generator: torch.Generator | None = None
    ) -> tuple[SaviState, SaviOutput]:
        """Take one time step; frame (B, 3, H, W) in [0, 1]."""
        check_frame(frame, self.config)
        check_state(frame, state, self.config)
        tokens = self.encoder(2 * frame - 1)
        kernel = self.kernel_head(state.latents)
        drawn = generator is not None and self.config.kernel.stochastic
        slots = self.corrector(tokens, kernel.sample(generator) if drawn else kernel.mean)
        latents, memory = self.predictor(slots, state.memory, generator)
        return SaviState(latents, memory), SaviOutput(state.latents, kernel, slots, self.decoder(slots))

    def observe(
        self, frames: Tensor, state: SaviState | None = None, *, generator: torch.Generator | None = None
    ) -> tuple[SaviState, SaviOutput]:
        """Watch a clip (B, T, 3, H, W), from the start or from where `state` left off; outputs carry time at axis 1."""
        check_clip(frames, self.config)
        state = self.initial(frames.shape[0]) if state is None else state
        outputs = []
        for frame in frames.unbind(dim=1):
            state, output = self.step(frame, state, generator=generator)
            outputs.append(output)
        return state, stack_in_time(outputs)

    def predict_next(self, state: SaviState, *, through_kernel: bool = False) -> Decoded:
        """The frame to come, painted from the predicted latents as they are.

        No loss ever trains this: SAVi only learns to paint *corrected* slots, and nobody has published how its
        "next-frame prediction" was made. `through_kernel` paints the kernel's mean, where slot attention would begin.
        """
        slots = self.kernel_head(state.latents).mean if through_kernel else state.latents
        decoded: Decoded = self.decoder(slots)
        return decoded
