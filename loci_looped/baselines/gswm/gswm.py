"""G-SWM, "Improving Generative Imagination in Object-Centric World Models" (Lin et al., ICML 2020): one time step.

Written from a description of the model, without the authors' code; `golden` compares it with numbers of theirs.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from loci_looped.configs.gswm import GswmConfig, preset

from .background import Background, background_of
from .checks import check_frame, check_picture, check_state, check_type
from .discovery import Discovery
from .propagation import Propagation
from .rendering import Renderer
from .situation import Situation
from .state import NO_ID, GswmOutput, GswmState, Memory, Objects, Recurrent, Tracks, join, take


class Gswm(nn.Module):
    """Objects with presence, depth, place, look and dynamics, followed and found anew in each frame, or imagined."""

    def __init__(self, config: GswmConfig | str = "gswm-balls"):
        super().__init__()
        self.config = preset(config) if isinstance(config, str) else config
        self.background: Background = background_of(self.config)
        self.propagation = Propagation(self.config)
        self.discovery = Discovery(self.config)
        self.situation = Situation(self.config)
        self.renderer = Renderer(self.config)

    def initial(self, background: Tensor) -> GswmState:
        """The state before the first frame: nobody is known. `background` (B, 3, H, H) is the scene without objects;
        unless the configuration says that it is given, only its size counts."""
        check_picture("background", background, self.config)
        check_type(background, self.propagation.proposal_growth.first.weight)
        return GswmState(self._empty_tracks(background), self.background.start(background))

    def step(
        self, frame: Tensor | None, state: GswmState, *, discover: bool = True, generator: torch.Generator | None = None
    ) -> tuple[GswmState, GswmOutput]:
        """One time step; frame (B, 3, H, H) in [0, 1], or None to imagine it.

        `discover=False` follows the known objects and looks for no new ones. Without a generator nothing is random.
        """
        if frame is None:
            return self._imagine(state, generator)
        check_frame(frame, state, self.config)
        background, context = self.background.infer(frame, state.background, generator)
        objects, proposal, propagation = self.propagation.infer(frame, state.tracks, generator)
        tracks = Tracks(objects, self.situation(objects, state.tracks.memory, background.image), proposal)
        discovery = None
        if discover:
            discovery = self.discovery(frame, background.image, objects, generator)
            found = discovery.objects
            # The new ones know each other, but not yet the old ones.
            fresh = self.situation(found, self.situation.start(*found.ids.shape), background.image)
            tracks = join(Tracks(found, fresh, found.where), tracks)
        tracks = self._keep_most_present(tracks)
        rendering = self.renderer(tracks.objects, background.image)
        return GswmState(tracks, background), GswmOutput(tracks, rendering, background, discovery, propagation, context)

    def _imagine(self, state: GswmState, generator: torch.Generator | None) -> tuple[GswmState, GswmOutput]:
        """One time step with shut eyes: the priors go on alone.

        The memories of inference take part, so that it can go on when there is something to see again.
        """
        check_state(state, self.config)
        background = self.background.imagine(state.background, generator)
        objects = self.propagation.imagine(state.tracks, generator)
        tracks = Tracks(objects, self.situation(objects, state.tracks.memory, background.image), objects.where)
        rendering = self.renderer(tracks.objects, background.image)
        return GswmState(tracks, background), GswmOutput(tracks, rendering, background)

    def _keep_most_present(self, tracks: Tracks) -> Tracks:
        """Room is for K objects. The order is stable, so that among absent ones the new go before empty places."""
        presence = tracks.objects.presence.squeeze(-1)
        order = presence.sort(dim=1, descending=True, stable=True).indices
        return take(tracks, order[:, : self.config.max_objects])

    def _empty_tracks(self, like: Tensor) -> Tracks:
        """K empty places. They have presence 0, so they show nothing, touch nobody, and go when somebody is found."""
        config, places = self.config, (like.shape[0], self.config.max_objects)
        box = like.new_tensor([0.5, 0.5, 0.0, 0.0]).expand(*places, 4)
        objects = Objects(
            presence=like.new_zeros(*places, 1), depth=like.new_zeros(*places, 1), where=box,
            what=like.new_zeros(*places, config.what), dynamics=like.new_zeros(*places, config.dynamics),
            ids=torch.full(places, NO_ID, dtype=torch.long, device=like.device),
        )
        empty = Recurrent(*(like.new_zeros(*places, config.hidden) for _ in range(2)))
        return Tracks(objects, Memory(empty, replace(empty)), box)
