"""The background: black, given as a picture, or a recurrent variational auto-encoder."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from loci_looped.configs.gswm import CONTEXT_STRIDE, GswmConfig

from .blocks import MLP, downsampling, upsampling
from .distributions import Gaussian
from .situation import InitialMemory, advance
from .state import BackgroundState, ContextBelief, Memory


class FixedBackground(nn.Module):
    """A picture that stays as it is: the given one, or black."""

    def __init__(self, black: bool):
        super().__init__()
        self.black = black

    def start(self, picture: Tensor) -> BackgroundState:
        return BackgroundState(torch.zeros_like(picture) if self.black else picture, context=None, memory=None)

    def infer(
        self, frame: Tensor, background: BackgroundState, generator: torch.Generator | None
    ) -> tuple[BackgroundState, ContextBelief | None]:
        return background, None

    def imagine(self, background: BackgroundState, generator: torch.Generator | None) -> BackgroundState:
        return background


class LearnedBackground(nn.Module):
    """One latent context per frame, inferred from the frame and from what was before."""

    def __init__(self, config: GswmConfig):
        super().__init__()
        channels, hidden, seed = config.context_channels, config.hidden, config.glimpse_channels
        self.side = config.frame // CONTEXT_STRIDE
        self.encoder = downsampling((3, channels, 2 * channels, 4 * channels, 8 * channels), first_kernel=7)
        self.encoder_output = nn.Linear(8 * channels * self.side**2, hidden)
        self.posterior = MLP(2 * hidden, hidden, hidden, 2 * config.context)
        self.prior = MLP(hidden, hidden, hidden, 2 * config.context)
        self.posterior_initial, self.prior_initial = InitialMemory(hidden), InitialMemory(hidden)
        self.posterior_cell = nn.LSTMCell(config.context, hidden)
        self.prior_cell = nn.LSTMCell(config.context, hidden)
        self.decoder_input = nn.Linear(config.context, seed * self.side**2)
        self.decoder = upsampling((seed, seed // 2, seed // 4, seed // 8, 3))

    def start(self, picture: Tensor) -> BackgroundState:
        """Only the number of clips is taken from the picture."""
        batch = picture.shape[0]
        context = self.decoder_input.weight.new_zeros(batch, self.decoder_input.in_features)
        memory = Memory(self.posterior_initial(batch), self.prior_initial(batch))
        return BackgroundState(torch.zeros_like(picture), context, memory)

    def infer(
        self, frame: Tensor, background: BackgroundState, generator: torch.Generator | None
    ) -> tuple[BackgroundState, ContextBelief | None]:
        memory = _memory(background)
        features = self.encoder_output(self.encoder(frame).flatten(1))
        posterior = Gaussian.halves(self.posterior(torch.cat([memory.posterior.hidden, features], dim=-1)))
        belief = ContextBelief(posterior, prior=self._expectation(memory))
        return self._painted(posterior.draw(generator), memory), belief

    def imagine(self, background: BackgroundState, generator: torch.Generator | None) -> BackgroundState:
        memory = _memory(background)
        return self._painted(self._expectation(memory).draw(generator), memory)

    def _expectation(self, memory: Memory) -> Gaussian:
        return Gaussian.halves(self.prior(memory.prior.hidden))

    def _painted(self, context: Tensor, memory: Memory) -> BackgroundState:
        memory = Memory(
            posterior=advance(self.posterior_cell, context, memory.posterior),
            prior=advance(self.prior_cell, context, memory.prior),
        )
        seed = self.decoder_input(context).view(context.shape[0], -1, self.side, self.side)
        return BackgroundState(self.decoder(seed), context, memory)


def _memory(background: BackgroundState) -> Memory:
    assert background.memory is not None, "checks.check_frame refuses states of another background"
    return background.memory


Background = FixedBackground | LearnedBackground


def background_of(config: GswmConfig) -> Background:
    if config.background == "learned":
        return LearnedBackground(config)
    return FixedBackground(black=config.background == "none")
