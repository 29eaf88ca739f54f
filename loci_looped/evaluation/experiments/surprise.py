"""The surprise experiment: is the network more wrong about an object that was taken away than about one that returns?

Two windows of the paper (the object should reappear beside the screen; the screen falls), its two correlations, and the
curves of its figure. The matched pairs of every violation are in `violations.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from loci_looped.evaluation.experiments.results import Case, Results
from loci_looped.evaluation.experiments.scoring import ScoredClip
from loci_looped.evaluation.metrics.statistics import Correlation, TTest, t_test
from loci_looped.evaluation.metrics.surprise import (
    PROTOCOL,
    REAPPEARANCE,
    SCREEN_FALLS,
    Window,
    compare,
    follow,
    mean_over_networks,
    peak,
)
from loci_looped.evaluation.metrics.tracking import moments
from loci_looped.utils.errors import LociError

Floats = NDArray[np.floating]
WINDOWS = {"reappearance": REAPPEARANCE, "screen_falls": SCREEN_FALLS}
WELCH = f"{PROTOCOL}+welch"
PER_SLOT = f"{PROTOCOL}+per-slot"          # as released: two slots on one object count twice
CORRELATION = f"{PROTOCOL}+per-frame-correlation"
IN_BITS = f"{PROTOCOL}+in-bits"            # the same test of calibrated surprise (inference/surprise.py)


def put_surprise(results: Results, case: Case, clips: Sequence[ScoredClip]) -> None:
    """Both windows, the correlations and the curves of one model."""
    if any(clip.recording.slot_errors is None for clip in clips):
        raise LociError(
            "Surprise is the error of a predicted frame, but this model predicts none: evaluate a network instead."
        )
    gone, stayed = slots_of_vanished(clips), slots_of_controls(clips)
    results.put(case, "vanished_slots", len(gone), PROTOCOL)
    results.put(case, "control_slots", len(stayed), PROTOCOL)
    for name, window in WINDOWS.items():
        _put_window(results, case.under(name), window, gone, stayed)
        if all(clip.recording.surprise is not None for clip in clips):
            _put_bits(results, case.under(name, "bits"), window, gone, stayed)
    _put_correlations(results, case, gone, stayed)
    for name, chosen in (("vanished", gone), ("control", stayed)):
        _put_curves(results, case.under(name), chosen)


SlotRow = tuple[ScoredClip, int]           # one slot of one clip


def _usable(clip: ScoredClip, slot: int) -> bool:
    """Successfully tracked, and first seen early enough."""
    return bool(clip.tried[slot] and clip.succeeded[slot])


def slots_of_controls(clips: Sequence[ScoredClip]) -> list[SlotRow]:
    return [
        (clip, slot) for clip in clips if clip.set == "control"
        for slot in range(len(clip.tried)) if _usable(clip, slot)
    ]


def slots_of_vanished(clips: Sequence[ScoredClip]) -> list[SlotRow]:
    """Slots that held, while it could be seen, the object that is taken away."""
    found = []
    for clip in clips:
        taken = {event.object for event in clip.events if event.kind == "removed"}
        owner = clip.object_of_slot()
        if clip.set == "surprise":
            found += [(clip, k) for k in range(len(owner)) if int(owner[k]) in taken and _usable(clip, k)]
    return found


def _errors(row: SlotRow) -> Floats:
    """(T - 1,) the slot's error at every frame that has a next one."""
    clip, slot = row
    assert clip.recording.slot_errors is not None
    return clip.recording.slot_errors[:-1, slot]


def _bits(row: SlotRow) -> Floats:
    """(T - 1,) bits about the slot's object, of the frame that its error is about; a slot that let go says nothing."""
    clip, slot = row
    assert clip.recording.surprise is not None
    return np.where(clip.recording.present, clip.recording.surprise, 0.0)[1:, slot]


def _peaks(
    rows: Sequence[SlotRow], window: Window, series: Callable[[SlotRow], Floats] = _errors
) -> tuple[Floats, list[Hashable]]:
    """The peak of each slot, and the name of the object it belongs to."""
    peaks = np.array([float(peak(series(row), window)) for row in rows])
    names: list[Hashable] = [
        (clip.set, clip.source, clip.seed, int(clip.object_of_slot()[slot])) for clip, slot in rows
    ]
    return peaks, names


def _put_window(
    results: Results, case: Case, window: Window, gone: Sequence[SlotRow], stayed: Sequence[SlotRow]
) -> None:
    try:
        (gone_peaks, gone_names), (stayed_peaks, stayed_names) = _peaks(gone, window), _peaks(stayed, window)
    except LociError as error:
        results.warn(f"{case}: {error}")
        return
    vanished, control = mean_over_networks(gone_peaks, gone_names), mean_over_networks(stayed_peaks, stayed_names)
    for name, values in (("vanished", vanished), ("control", control)):
        results.put(case, f"{name}_peak", moments(values), PROTOCOL)
        numbers = [float(number) for number in range(len(values))]
        results.put_curve(case, f"{name}_peaks", numbers, [float(value) for value in values])
    _put_test(results, case, PROTOCOL, lambda: compare(vanished, control))
    _put_test(results, case.under("welch"), WELCH, lambda: t_test(vanished, control, equal_variances=False))
    _put_test(results, case.under("per_slot"), PER_SLOT, lambda: compare(gone_peaks, stayed_peaks))


def _put_bits(
    results: Results, case: Case, window: Window, gone: Sequence[SlotRow], stayed: Sequence[SlotRow]
) -> None:
    """The paper's test of calibrated surprise instead of the slot error."""
    try:
        sides = [mean_over_networks(*_peaks(rows, window, _bits)) for rows in (gone, stayed)]
    except LociError:                           # said about the slot error already
        return
    for name, values in zip(("vanished", "control"), sides, strict=True):
        results.put(case, f"{name}_peak", moments(values), IN_BITS, "bits")
    _put_test(results, case, IN_BITS, lambda: compare(sides[0], sides[1]))


def _put_test(results: Results, case: Case, protocol: str, test: Callable[[], TTest]) -> None:
    try:
        found = test()
    except LociError as error:
        if protocol == PROTOCOL:            # its variants fail for the same reason
            results.warn(f"{case}: no t-test. {error}")
        results.put(case, "t", None, protocol)
        return
    results.put(case, "t", found.t, protocol, n=found.n_first + found.n_second)
    results.put(case, "degrees", found.degrees, protocol)
    results.put(case, "p_one_sided", found.one_sided, protocol)
    results.put(case, "p_two_sided", found.two_sided, protocol)
    results.put(case, "effect", found.effect, protocol, "Cohen's d")
    results.put(case, "n_vanished", found.n_first, protocol)
    results.put(case, "n_control", found.n_second, protocol)


def _put_correlations(results: Results, case: Case, gone: Sequence[SlotRow], stayed: Sequence[SlotRow]) -> None:
    """Does what is expected of the vanished follow what can be seen of those that come back? (frames 25 to 39)"""
    def stacked(rows: Sequence[SlotRow], values: Callable[[SlotRow], Floats]) -> Floats:
        if not rows:
            raise LociError("There is no slot that held such an object to the end.")
        return np.stack([values(row) for row in rows], axis=1)

    def areas(row: SlotRow) -> Floats:
        clip, slot = row
        assert clip.recording.visible_areas is not None
        return clip.recording.visible_areas[:-1, slot]

    def seen_again(row: SlotRow) -> Floats:
        clip, slot = row
        return (clip.table.visible & clip.recording.present)[:-1, slot].astype(np.float64)

    for name, values in (("slot_error", _errors), ("visible_mask", areas)):
        found: Correlation | None = None
        try:
            found = follow(stacked(gone, values), stacked(stayed, seen_again))
        except LociError as error:
            results.warn(f"{case}: no correlation of the {name.replace('_', ' ')}. {error}")
        own = case.under(f"correlation_{name}")
        results.put(own, "r", None if found is None else found.r, CORRELATION)
        if found is not None:
            results.put(own, "degrees", found.degrees, CORRELATION)
            results.put(own, "p_two_sided", found.two_sided, CORRELATION)


def _put_curves(results: Results, case: Case, rows: Sequence[SlotRow]) -> None:
    """The paper's figure: slot error, expected visible area and both gates, frame by frame."""
    if not rows:
        return
    length = min(len(clip.recording.present) for clip, _ in rows) - 1
    frames = np.arange(length)
    errors = np.stack([_errors(row)[:length] for row in rows], axis=1)
    results.put_mean_curve(case, "slot_error_over_time", frames, errors)
    areas = [clip.recording.visible_areas for clip, _ in rows]
    results.put_mean_curve(case, "visible_area_over_time", frames, np.stack(
        [area[:length, slot] for area, (_, slot) in zip(areas, rows, strict=True) if area is not None], axis=1))
    visible = [(clip.table.visible & clip.recording.present)[:length, slot].astype(np.float64) for clip, slot in rows]
    results.put_mean_curve(case, "visible_over_time", frames, np.stack(visible, axis=1))
    gates = [clip.recording.gate for clip, _ in rows]
    if any(gate is None for gate in gates):
        return
    for index, name in enumerate(("gestalt", "position")):
        openings = []
        for gate, (clip, slot) in zip(gates, rows, strict=True):
            assert gate is not None
            openings.append(np.where(clip.recording.present[:length, slot], gate[:length, slot, index], np.nan))
        results.put_mean_curve(case, f"{name}_gate_over_time", frames, np.stack(openings, axis=1))
