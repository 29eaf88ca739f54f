"""What goes beyond the paper, one switch per idea. The defaults leave every one of them out: the paper's network.

Each idea is one small class in `model/extensions/` that replaces or wraps a part of the network.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Literal

SpeedFrom = Literal["everything", "well_seen"]


@dataclass(frozen=True)
class Rules:
    """Permanence by construction: rules about motion, looks and hiding in place of learning."""

    displacement: bool = False
    """The transition also sees how far the percept moved since the last step."""
    inertia: float = 0.0
    """With this gain the displacement is added to the predicted place: with 1 things go on as they went."""
    speed_from: SpeedFrom = "well_seen"
    """Which places tell how far a slot moves. "well_seen" leaves out what is cut off by others or by the border, which
    looks slower or faster than it is; "everything" takes every place that enters the percept."""
    deviation: float = 0.0
    """The farthest the learnt part may move the predicted place per step, in half images; a tenth of it is the limit
    for size and priority. 0 is no limit."""
    persistence: float = 0.0
    """With this gain the percept's bits, as -1 and 1, are added to the predicted gestalt's logits, and what is learnt
    is limited to a quarter of it: an object keeps its look while it is imagined."""
    visibility_prior: float = 0.0
    """The gate starts from the belief that what is hidden cannot be sensed: this times (1 - O / shuts_at) is added
    before the rectified tanh."""
    shuts_at: float = 0.5
    """The occlusion from which on that belief shuts the gate."""
    shuts_at_in_use: float = 0.0
    """The same for a network that is used instead of trained; 0 is as in training."""
    open_when_lost: bool = False
    """A slot that has not bound an object yet, or shows none although nothing stands before it, always listens to the
    encoder."""

    @property
    def of_motion(self) -> bool:
        return bool(self.displacement or self.inertia or self.deviation or self.persistence)

    @property
    def of_the_gate(self) -> bool:
        return bool(self.visibility_prior or self.open_when_lost)


@dataclass(frozen=True)
class Extensions:
    own_place: bool = False
    """Encoder: the log of the slot's own Gaussian is added to the position logits, so that a slot starts by looking at
    its own place."""
    explaining_away: bool = False
    """Encoder: a slot looks less where other slots are expected to be seen, so that a mover that touches the screen
    does not take itself for the screen."""
    offsets: bool = False
    """Encoder: each cell of the latent grid also says where the object's middle lies, up to a cell away. Without it
    places snap to cells, and no speed can be read off them."""
    attended_gestalt: bool = False
    """Encoder: the gestalt is read where the slot looks, instead of off the whole map."""
    bounded_size: float = 0.0
    """Encoder: the size is a sigmoid up to this limit, instead of a gain that grows by itself; 0 leaves it out."""
    painted_objects: bool = False
    """Decoder: the encoder sees its own object as it was painted into the prediction, which saves a third of the
    decoding, instead of decoded once more as if nothing stood before it."""
    aligned_grid: bool = False
    """Encoder and decoder: each cell of the latent grid lies on the middle of the pixels it covers. The paper puts the
    outermost cells on the outermost pixels, which is off by up to one and a half pixels at the border."""
    he_start: bool = False
    """Start: residual branches scaled so that signals keep their size, colours apart in the first and last layer."""
    minimum_error: float = 0.0
    """Recruiter: no slot is recruited where the blurred error stays below this."""
    minimum_error_in_use: float = 0.0
    """The same for a network that is used instead of trained: slots that learn to draw must be eager, but later they
    would take every shadow and seam for an object. 0 is as in training."""
    newcomers_behind: bool = False
    """Recruiter: of slots with equal priority the later ones paint in front. This uses slots from the last to the
    first, so that who comes later passes behind who was there before."""
    suppression: float = 4.0
    """Recruiter, error-sampled placement: radius in pixels around a placed slot in which the next one does not look."""
    keeps_clear: int = 0
    """Recruiter: in use, no slot is sent to within so many pixels of where another one expects its object, seen or not:
    what comes out a little beside its expected place is not a second object. 0 is only not to where one is seen."""
    patience: int = 0
    """Bookkeeping: a slot that has had reason to doubt its object for so many steps lets go of it; 0 is never."""
    border: float = 0.0
    """Bookkeeping, with patience: what should be seen so close to the border, in half images, and is not, has left. 0
    waits until it is expected outside of the picture."""
    binds_in_sight: float = 0.0
    """Bookkeeping: in use, a slot that comes later binds only what is hidden to at most this share. 0 is whatever it
    can show, also the rim of another slot's object."""
    open_until_bound: bool = False
    """Gate: a slot that holds no object yet has nothing to imagine, so it perceives what it senses."""
    innovation: float = 0.0
    """Transition: it also hears how far its own expectation of the place was off, times this, as far as the gate let it
    in. 0 leaves it out."""
    drift: float = 0.0
    """Transition: a sum per slot, to which it learns to add, is added to every predicted place, and heard times this. A
    recurrent memory lets speeds fade, a sum keeps them. 0 leaves it out."""
    drift_heard: bool = True
    """Is the sum heard by the whole transition, or only by what adds to it? Unheard, it fits beside the weights of a
    network without one, and changes nothing until it is learnt."""
    pushes: int = 0
    """Transition, with drift: pairs of slots push each other, and the surroundings push, by functions of this width of
    how they stand and move to one another; they begin at zero. 0 leaves them out."""
    identity_start: bool = False
    """Transition: it begins by keeping the gestalt's bits, as small gains make it begin by keeping place and size. A
    start, not a rule: every weight is free to leave it."""
    relation: int = 0
    """Transition: slots also hear what each of the others is to them, by a message network of this width for every
    pair; it begins silent. Attention over absolute codes finds distances hard. 0 leaves it out."""
    forgets: bool = False
    """Transition: a slot that holds no object remembers none, so that the next one it takes has no past."""
    rules: Rules = field(default_factory=Rules)

    def __post_init__(self) -> None:
        for name in ("keeps_clear", "patience", "innovation", "drift", "pushes", "relation"):
            if getattr(self, name) < 0:
                raise ValueError(f"extensions.{name} is {getattr(self, name)}, but it must not be negative.")
        if self.pushes and not self.drift:
            raise ValueError("extensions.pushes change a drift, and there is none: set extensions.drift, too.")
        if self.innovation and self.rules.displacement:
            raise ValueError(
                "extensions.innovation and extensions.rules.displacement both tell the transition about motion: "
                "choose one."
            )

    @property
    def learns_motion(self) -> bool:
        """Does the transition differ from the paper's in what it hears, how it starts or what it forgets?"""
        return bool(self.innovation or self.identity_start or self.forgets)

    def used(self) -> list[str]:
        """The names of what differs from the paper's network."""
        plain = Extensions()
        return [f.name for f in dataclasses.fields(self) if getattr(self, f.name) != getattr(plain, f.name)]
