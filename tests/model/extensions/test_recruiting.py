"""Who is sent where: nobody to the neighbourhood of what another slot expects, once the network is in use."""

from __future__ import annotations

import dataclasses

import torch

from loci_looped.configs.presets import preset
from loci_looped.model import Regime
from loci_looped.model.extensions.recruiting import EagerRecruiter
from loci_looped.model.state import Decoded


def recruiter(keeps_clear: int) -> EagerRecruiter:
    config = preset("adept-learnt")
    return EagerRecruiter(
        dataclasses.replace(config, extensions=dataclasses.replace(config.extensions, keeps_clear=keeps_clear))
    )


def hidden_object() -> Decoded:
    """Slot 0 expects a square of 4 pixels that nobody will see; slot 1 shows one of 2 pixels."""
    whole = torch.zeros(1, 2, 20, 20)
    whole[0, 0, 8:12, 8:12] = 1
    whole[0, 1, 0:2, 0:2] = 1
    visible = whole.clone()
    visible[0, 0] = 0
    nothing = torch.zeros(1, 1, 20, 20)
    return Decoded(
        torch.zeros(1, 3, 20, 20), torch.cat([visible, nothing], 1), whole, whole.unsqueeze(2).expand(-1, -1, 3, -1, -1)
    )


def explained(keeps_clear: int, held: list[bool], *, learning: bool = False) -> torch.Tensor:
    """(20, 20) bool."""
    matter = recruiter(keeps_clear).explained(hidden_object(), torch.tensor([held]), Regime(learning=learning))
    assert float(matter.min()) >= 0 and float(matter.max()) <= 1
    return matter[0] > 0.5


def test_the_neighbourhood_of_a_hidden_object_is_its_slots_matter() -> None:
    clear = explained(3, [True, False])
    assert clear.sum() == 10 * 10 and clear[5:15, 5:15].all()


def test_without_it_only_what_is_seen_is_explained() -> None:
    assert explained(0, [True, True]).sum() == 2 * 2


def test_who_holds_nothing_claims_nothing() -> None:
    assert not explained(3, [False, False]).any()
    assert explained(3, [False, True]).sum() == 5 * 5       # at the corner


def test_while_it_learns_to_see_slots_are_as_eager_as_ever() -> None:
    assert torch.equal(explained(3, [True, True], learning=True), explained(0, [True, True]))
