"""Has this run collapsed? The known ways to fail, told in words."""

from __future__ import annotations

from loci_looped.training.film_validation import FilmValidation, Findings
from loci_looped.training.validation import Validation

EARLY = 1500
"""Before so many updates nothing can be said."""


def diagnose(
    update: int, phase: str, means: dict[str, float], validation: Findings | None = None
) -> dict[str, str]:
    """What is wrong, by kind, most serious first; empty while all is well. `means` are those of the training log."""
    found: dict[str, str] = {}
    if update < EARLY:
        return found
    found |= _of_training(phase, means)
    if isinstance(validation, FilmValidation):
        found |= _of_films(validation)
        validation = validation.truth
    if validation is not None:
        found |= _of_validation(phase, validation)
    return found


def _of_films(validation: FilmValidation) -> dict[str, str]:
    found = {}
    if validation.explained < 20:
        found["nothing explained"] = (
            f"Only {max(0.0, validation.explained):.0f} % of what moves in the held-out films is explained. More films "
            "of the same scene, another --seed or a longer foreground phase (--curriculum.foreground-until) may help; "
            "loci inspect FILM tells whether the camera stands still and things are large enough."
        )
    if validation.slots_per_blob > 1.6:
        found["split blobs"] = (
            f"Each moving blob is held by {validation.slots_per_blob:.1f} slots: several slots share one thing, or "
            "things overlap. A larger --model.gestalt or fewer --model.slots help."
        )
    return found


def too_short(update: int, usual: int | None) -> str:
    """A sentence about a run that ended before anything can be said about it; "" for the others."""
    if update >= EARLY:
        return ""
    recipe = f", whose recipe has {usual}" if usual is not None else ""
    return f"{update} updates are too few to tell whether this network learns{recipe}: what it says means little yet."


def _of_training(phase: str, means: dict[str, float]) -> dict[str, str]:
    found = {}
    if means.get("bound_slots", 1.0) < 0.05:
        found["nothing bound"] = (
            "No slot holds anything: the network explains the frames by the background alone. Lengthen the foreground "
            "phase (--curriculum.foreground-until), or use --loss.balanced so that small objects count."
        )
    elif phase != "foreground" and means.get("foreground_error", 0.0) > 0.9 * means.get("bare_error", float("inf")):
        found["background only"] = (
            "Where objects are, the prediction is hardly better than the empty background: slots are placed but paint "
            "nothing. Lengthen the foreground phase (--curriculum.foreground-until) or let the background fade in more "
            "slowly (--curriculum.background-over)."
        )
    return found


def _of_validation(phase: str, validation: Validation) -> dict[str, str]:
    found = {}
    if validation.movers_found < 30:
        found["dead slots"] = (
            f"Only {validation.movers_found:.0f} % of the movers are found by any slot: most slots are dead. Try "
            "another --seed or a longer foreground phase (--curriculum.foreground-until)."
        )
    if validation.slots_per_mover > 1.6:
        found["split objects"] = (
            f"Each mover is held by {validation.slots_per_mover:.1f} slots: several slots share one object. A larger "
            "--model.gestalt or fewer --model.slots help."
        )
    imagines = phase in ("imagination", "rehearsal")
    if imagines and validation.position_gate_hidden > 0.9 and validation.position_gate_visible > 0.9:
        found["gate open"] = (
            "The percept gate never closes, so nothing is imagined. Raise --model.gate.l0-weight."
        )
    if imagines and validation.position_gate_visible < 0.02:
        found["gate shut"] = (
            "The percept gate is shut all the time, so nothing is perceived. Lower --model.gate.l0-weight."
        )
    return found
