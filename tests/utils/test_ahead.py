"""Items come in order, errors in their place, and nobody works on for a listener that has gone."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from loci_looped.utils.ahead import ahead


def test_items_come_in_order_and_work_is_done_in_the_meantime() -> None:
    third = threading.Event()

    def numbers() -> Iterator[int]:
        for number in range(5):
            if number == 2:
                third.set()
            yield number

    found = []
    for number in ahead(numbers(), 2):
        if number == 0:
            assert third.wait(10), "the third is made while the first is looked at"
        found.append(number)
    assert found == list(range(5))


def test_at_most_so_many_are_made_ahead() -> None:
    made = []

    def numbers() -> Iterator[int]:
        for number in range(100):
            made.append(number)
            yield number

    listening = ahead(numbers(), 3)
    assert next(listening) == 0
    listening.close()       # type: ignore[attr-defined]
    assert len(made) <= 6 and threading.active_count() < 50


def test_an_error_comes_in_its_place() -> None:
    def numbers() -> Iterator[int]:
        yield 1
        raise KeyError("broken film")

    listening = ahead(numbers(), 4)
    assert next(listening) == 1
    with pytest.raises(KeyError, match="broken film"):
        next(listening)


def test_who_stops_asking_stops_the_thread() -> None:
    gone = threading.Event()

    def numbers() -> Iterator[int]:
        try:
            while True:
                yield 0
        finally:
            gone.set()

    before = threading.active_count()
    for _ in ahead(numbers(), 1):
        break
    assert threading.active_count() == before
    assert gone.wait(10)
