"""Has this run collapsed? The known ways to fail, told in words."""

from __future__ import annotations

from loci_looped.training.curriculum import Phase
from loci_looped.training.validation import Validation

EARLY = 1500
"""Before so many updates nothing can be said."""


def complaints(update: int, phase: Phase, means: dict[str, float], look: Validation | None) -> list[str]:
    """Sentences, most serious first; empty while all is well."""
    found = []
    if update >= EARLY and means.get("bound_slots", 1.0) < 0.05:
        found.append(
            "No slot holds anything: the network explains the frames by the background alone. Lengthen the foreground phase "
            "(--curriculum.foreground-until), or use --loss.balanced True so that small objects count."
        )
    if look is None:
        return found
    if look.movers_found < 30:
        found.append(
            f"Only {look.movers_found:.0f} % of the movers are found by any slot: most slots are dead. Try another seed or a "
            "longer foreground phase."
        )
    if look.slots_per_mover > 1.6:
        found.append(
            f"Each mover is held by {look.slots_per_mover:.1f} slots: objects are split. A larger gestalt code or fewer slots help."
        )
    if phase == "imagination" and look.position_gate_hidden > 0.9 and look.position_gate_visible > 0.9:
        found.append("The percept gate never closes, so nothing is imagined. Raise --model.gate.l0-weight.")
    if phase == "imagination" and look.position_gate_visible < 0.02:
        found.append("The percept gate is shut all the time, so nothing is perceived. Lower --model.gate.l0-weight.")
    return found
