"""Newcomers bind what is in plain sight; who holds an object keeps it; while slots learn to see they may bind all."""

from __future__ import annotations

import dataclasses

import torch

from loci_looped.model.bookkeeping import Bookkeeping
from loci_looped.model.extensions.binding import binds_in_sight
from loci_looped.model.state import Decoded, Registry

THRESHOLD = 0.6


def halves() -> Decoded:
    """Three slots: all of its object is visible, a half of it, and a quarter."""
    whole, visible = torch.zeros(1, 3, 12, 12), torch.zeros(1, 4, 12, 12)
    whole[:, :, 2:10, 2:10] = 1
    for slot, rows in enumerate((8, 4, 2)):
        visible[:, slot, 2 : 2 + rows, 2:10] = 1
    return Decoded(torch.zeros(1, 3, 12, 12), visible, whole, torch.zeros(1, 3, 3, 12, 12))


def registry(bound: list[bool], settled: bool = True) -> Registry:
    everyone = torch.ones(1, 3, dtype=torch.bool)
    plain = Bookkeeping(THRESHOLD).initial(1, 3, torch.zeros(()))
    return dataclasses.replace(
        plain, assigned=everyone, bound=torch.tensor([bound]), bound_next=everyone, settled=torch.tensor([settled])
    )


def test_a_newcomer_waits_until_its_object_is_in_plain_sight() -> None:
    after, seen = binds_in_sight(0.3)(THRESHOLD).bind(registry([False] * 3), torch.ones(1, 3).bool(), halves())
    assert after.bound.tolist() == seen.tolist() == [[True, False, False]]


def test_the_paper_binds_whatever_can_be_shown() -> None:
    after, _ = Bookkeeping(THRESHOLD).bind(registry([False] * 3), torch.ones(1, 3).bool(), halves())
    assert after.bound.all()


def test_who_holds_an_object_keeps_it_however_hidden() -> None:
    after, seen = binds_in_sight(0.3)(THRESHOLD).bind(registry([True] * 3), torch.ones(1, 3).bool(), halves())
    assert after.bound.all() and seen.all()


def test_before_the_film_begins_and_while_learning_all_may_bind() -> None:
    bookkeeping, everyone = binds_in_sight(0.3)(THRESHOLD), torch.ones(1, 3).bool()
    assert bookkeeping.bind(registry([False] * 3, settled=False), everyone, halves())[0].bound.all()
    assert bookkeeping.bind(registry([False] * 3), everyone, halves(), learning=True)[0].bound.all()
