"""What was seen as rows of numbers: one row per frame and slot, for a spreadsheet or a data frame."""

from __future__ import annotations

import csv
from typing import TextIO

import numpy as np

from loci_looped.data.coordinates import to_pixels
from loci_looped.inference.watch import FrameResult
from loci_looped.inference.watch_slots import SlotsResult
from loci_looped.viz.colours import slot_name

COLUMNS = (
    "frame", "seconds", "slot", "bound", "screen",
    "y", "x",                       # percept position in [-1, 1]
    "row", "column",                # the same in pixels of the source's picture
    "size", "priority", "occlusion", "gate_gestalt", "gate_position", "surprise", "slot_error",
    "visible_pixels", "whole_pixels",   # areas of the object at the network's size
)


class Table:
    """Writes rows as they come; nothing is kept."""

    def __init__(self, file: TextIO):
        self.writer = csv.writer(file, lineterminator="\n")
        self.writer.writerow(COLUMNS)

    def add(self, seen: FrameResult) -> None:
        percept, visible = seen.percept, seen.belief.visible_masks()[0]
        # The centre of a picture's first pixel is -1 whatever the picture's size, so positions scale with it.
        places = to_pixels(percept.position.numpy().astype(np.float64), seen.picture.shape[:2])
        for slot in range(seen.bound.shape[0]):
            self.writer.writerow((
                seen.number, f"{seen.time:.3f}", slot_name(slot), int(seen.bound[slot]), int(slot == seen.screen),
                *(f"{value:.5f}" for value in percept.position[slot].tolist()),
                *(f"{value:.2f}" for value in places[slot]),
                f"{float(percept.size[slot]):.5f}", f"{float(percept.priority[slot]):.5f}",
                f"{float(seen.occlusion[slot]):.4f}", *(f"{value:.4f}" for value in seen.gate[slot].tolist()),
                f"{float(seen.surprise[slot]):.3f}", f"{float(seen.slot_error[slot]):.6f}",
                int((visible[slot] > 0.5).sum()), int((seen.belief.whole_masks[0, slot] > 0.5).sum()),
            ))


class SlotsTable:
    """The same of what any video model says about its slots."""

    columns = ("frame", "seconds", "slot", "present", "y", "x", "row", "column", "occlusion", "visible_pixels")

    def __init__(self, file: TextIO):
        self.writer = csv.writer(file, lineterminator="\n")
        self.writer.writerow(self.columns)

    def add(self, seen: SlotsResult) -> None:
        slots = seen.slots
        places = to_pixels(slots.positions[0].numpy().astype(np.float64), seen.picture.shape[:2])
        for slot in range(slots.presence.shape[1]):
            self.writer.writerow((
                seen.number, f"{seen.time:.3f}", slot_name(slot), int(slots.presence[0, slot]),
                *(f"{value:.5f}" for value in slots.positions[0, slot].tolist()),
                *(f"{value:.2f}" for value in places[slot]),
                "" if slots.occlusion is None else f"{float(slots.occlusion[0, slot]):.4f}",
                int((slots.visible_masks[0, slot] > 0.5).sum()),
            ))
