"""The boxes of the figure one by one: bricks, encoder, decoder, transition, and the gathering of active slots."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from loci_looped.model import LociLooped, SlotCodes
from loci_looped.model.active import SIZES, Active
from loci_looped.model.blocks import PatchDown, PatchUp, ResidualBlock, binarise, channel_skip, gaussian_map, grid
from loci_looped.model.config import DecoderConfig, EncoderConfig, LociConfig, TransitionConfig
from loci_looped.model.decoder import Decoder, PriorityOrder
from loci_looped.model.encoder import Encoder, GlobalGestalt
from loci_looped.model.state import Memory
from loci_looped.model.transition import Transition

Make = Callable[..., LociConfig]
Distance = Callable[[Any, Any], float]


def lively_weights(module: nn.Module, seed: int = 0) -> None:
    """Gains that start near zero become one half, so that every branch matters."""
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if name.endswith("gain"):
                parameter.fill_(0.5)
            elif name.endswith("bias"):
                parameter.copy_(0.2 * torch.randn(parameter.shape, generator=draw))


def codes(config: LociConfig, batch: int = 2, seed: int = 0) -> SlotCodes:
    draw = torch.Generator().manual_seed(seed)

    def uniform(*shape: int) -> Tensor:
        return torch.rand(shape, generator=draw, dtype=torch.float64)

    slots = config.slots
    return SlotCodes(
        uniform(batch, slots, config.gestalt), 2 * uniform(batch, slots, 2) - 1, 0.3 * uniform(batch, slots),
        uniform(batch, slots),
    )


def permuted(tree: Any, order: list[int]) -> Any:
    return tree[:, order] if isinstance(tree, Tensor) else tree.map(lambda leaf: leaf[:, order])


# ------------------------------------------------------------------------------------------------ bricks


def test_channel_skip_by_hand() -> None:
    x = torch.arange(4.0).view(1, 4, 1, 1)
    assert channel_skip(x, 4) is x
    assert channel_skip(x, 8).flatten().tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert channel_skip(x, 2).flatten().tolist() == [0.5, 2.5]
    assert channel_skip(x, 6).flatten().tolist() == [0.5, 0.5, 0.5, 2.5, 2.5, 2.5]


@given(
    st.floats(-1.5, 1.5), st.floats(-1.5, 1.5), st.floats(-0.2, 1.2), st.integers(2, 12), st.integers(2, 12)
)
def test_gaussian_map_is_the_formula(y: float, x: float, size: float, rows: int, columns: int) -> None:
    ours = gaussian_map(torch.tensor([y, x]).double(), torch.tensor(size).double(), (rows, columns))
    cy, cx, s = (torch.tensor(v).double() for v in (min(max(y, -1), 1), min(max(x, -1), 1), min(max(size, 0), 1)))
    tau_r, tau_c = (1 + max(rows, columns) * s) / rows, (1 + max(rows, columns) * s) / columns
    for i in range(rows):
        for j in range(columns):
            dy, dx = 2 * i / (rows - 1) - 1 - cy, 2 * j / (columns - 1) - 1 - cx
            expected = torch.exp(-(dy**2) / (2 * tau_r**2) - dx**2 / (2 * tau_c**2))
            assert abs(float(ours[i, j] - expected)) < 1e-6


def test_a_place_outside_of_the_image_gets_no_gradient() -> None:
    position = torch.tensor([[1.2, 0.3]], requires_grad=True)
    gaussian_map(position, torch.zeros(1), (4, 4)).sum().backward()
    assert position.grad is not None and position.grad[0, 0] == 0 and position.grad[0, 1] != 0


def test_blocks_start_as_their_skips() -> None:
    torch.manual_seed(0)
    x = torch.rand(2, 12, 8, 8).double()
    down = PatchDown(12, 24, gain=0.0).double()
    expected = x.view(2, 12, 2, 4, 2, 4).mean((3, 5)).repeat_interleave(2, 1)
    torch.testing.assert_close(down(x), expected)
    up = PatchUp(12, 3).double()
    nn.init.zeros_(up.gain)
    coarse = x.view(2, 3, 4, 8, 8).mean(2)
    torch.testing.assert_close(up(x), coarse.repeat_interleave(4, 2).repeat_interleave(4, 3))
    block = ResidualBlock(12, 12, gain=1e-12).double()
    torch.testing.assert_close(block(x), x, atol=1e-10, rtol=0)


def test_residual_block_by_hand() -> None:
    block = ResidualBlock(1, 1, kernel=1)
    with torch.no_grad():
        for conv, weight, bias in ((block.conv1, 2.0, 0.5), (block.conv2, -1.0, 0.25)):
            conv.weight.fill_(weight)
            conv.bias.fill_(bias)
        x = torch.tensor([-1.0, 3.0]).view(2, 1, 1, 1)
        # branch = -relu(2 relu(x) + 0.5) + 0.25
        assert block(x).flatten().tolist() == [-1.0 - 0.5 + 0.25, 3.0 - 6.5 + 0.25]
        bare = ResidualBlock(1, 1, kernel=1, leading_relu=False)
        bare.load_state_dict(block.state_dict())
        assert bare(x).flatten().tolist() == [-1.0 - 0.0 + 0.25, 3.0 - 6.5 + 0.25]


def test_binarise() -> None:
    logits = torch.tensor([-3.0, 0.1, 2.0])
    assert binarise(logits, training=False, generator=None).tolist() == [0, 1, 1]
    assert torch.equal(binarise(logits, training=True, generator=None), torch.sigmoid(logits))
    many = torch.zeros(20_000)
    noisy = binarise(many, training=True, generator=torch.Generator().manual_seed(0))
    assert noisy.mean().item() == pytest.approx(0.5, abs=0.01) and noisy.std().item() == pytest.approx(0.25, abs=0.01)


# ------------------------------------------------------------------------------------------------ decoder


@pytest.fixture
def decoder(tiny: Make) -> Decoder:
    torch.manual_seed(0)
    decoder = Decoder(tiny()).double()
    lively_weights(decoder)
    return decoder


@torch.no_grad()
def test_who_is_in_front_by_hand() -> None:
    """Two slots on the same spot: the one of the larger key keeps its Gaussian, the other is pushed aside."""
    order = PriorityOrder().double()
    maps = torch.ones(1, 2, 1, 1).double()
    ours = order(maps, torch.tensor([[0.0, 0.0]]).double(), None)
    # Keys 0 and 25: slot 1 is in front by its index alone.
    assert ours.flatten()[0] < 1e-10 and ours.flatten()[1] == pytest.approx(1, abs=1e-10)
    ours = order(maps, torch.tensor([[2.0, 0.0]]).double(), None)
    assert ours.flatten()[0] == pytest.approx(1, abs=1e-10) and ours.flatten()[1] < 1e-10
    tie = order(maps, torch.tensor([[0.5, 0.0]]).double(), None)
    assert tie.flatten().tolist() == pytest.approx([0.5, 0.5])


@torch.no_grad()
def test_decoder_slots_can_be_permuted(decoder: Decoder, distance: Distance) -> None:
    """The index breaks ties on purpose; without it no slot is special."""
    decoder.order.index_factor.zero_()
    before, order = codes(decoder.config), [2, 0, 1]
    active = Active.of(torch.ones(2, 3, dtype=torch.bool))
    background = torch.rand(2, 3, *decoder.config.frame).double()
    ours, theirs = decoder(before, background, active, None), decoder(permuted(before, order), background, active, None)
    assert distance(ours.frame, theirs.frame) < 1e-12
    assert distance(permuted(ours.visible_masks, order), theirs.visible_masks) < 1e-12
    assert distance(permuted(ours.object_masks, order), theirs.object_masks) < 1e-12
    assert distance(permuted(ours.colours, order), theirs.colours) < 1e-12
    objects = decoder.objects(before, active)
    assert distance(permuted(objects, order), decoder.objects(permuted(before, order), active)) < 1e-12
    assert distance(ours.visible_masks[:, 0], ours.visible_masks[:, 1]) > 1e-3


class Constant(nn.Module):
    """Answers with these numbers, one row per slot, spread over the picture."""

    def __init__(self, rows: list[list[float]], shape: tuple[int, int]):
        super().__init__()
        self.rows = torch.tensor(rows).double()[..., None, None].expand(-1, -1, *shape)

    def forward(self, features: Tensor) -> Tensor:
        return self.rows[: features.shape[0]]


@torch.no_grad()
def test_composition_by_hand(decoder: Decoder) -> None:
    shape = decoder.config.frame
    decoder.mask = Constant([[1.0], [2.0], [5.0]], shape)           # type: ignore[assignment]
    decoder.object = Constant([[2.5] * 3] * 2 + [[9.0] * 3], shape)  # type: ignore[assignment]
    background = torch.full((1, 3, *shape), 0.25).double()
    two_of_three = Active.of(torch.tensor([[True, True, False]]))
    painted = decoder(codes(decoder.config, batch=1), background, two_of_three, None)
    # The third slot is not in use; the background's logit is 0.1 x 10.
    soft = torch.softmax(torch.tensor([1.0, 2.0, -1e9, 1.0]).double(), 0)
    torch.testing.assert_close(painted.visible_masks_with_background[0, :, 3, 4], soft)
    assert painted.frame[0, :, 3, 4].tolist() == pytest.approx([float(0.5 * soft[:3].sum() + 0.25 * soft[3])] * 3)
    assert painted.object_masks[0, :, 3, 4].tolist() == pytest.approx([0.5, torch.sigmoid(torch.tensor(1.0)).item(), 0])
    assert painted.colours[0, :2, :, 3, 4].flatten().tolist() == pytest.approx([0.5] * 6)


@torch.no_grad()
def test_an_unprioritised_pass_paints_no_masks(decoder: Decoder) -> None:
    calls: list[str] = []
    decoder.mask.register_forward_hook(lambda *_: calls.append("mask"))
    decoder.object.register_forward_hook(lambda *_: calls.append("object"))
    decoder.objects(codes(decoder.config), Active.of(torch.ones(2, 3, dtype=torch.bool)))
    assert calls == ["object"]


@torch.no_grad()
def test_how_often_a_step_decodes(tiny: Make) -> None:
    """Own objects, present, ahead; the first step also paints the fresh slots; a warm-up does not paint ahead."""
    torch.manual_seed(0)
    model = LociLooped(tiny()).eval()
    passes: list[int] = []
    model.decoder.trunk.register_forward_hook(lambda *_: passes.append(1))
    background, frame = torch.zeros(1, 3, *model.config.frame), torch.rand(1, 3, *model.config.frame)
    state, _ = model.step(frame, model.initial(background), warmup=True)
    assert len(passes) == 3
    state, _ = model.step(frame, state, warmup=True)
    assert len(passes) == 3 + 2
    state, _ = model.step(frame, state)
    assert len(passes) == 3 + 2 + 3
    state, _ = model.step(None, state)
    assert len(passes) == 3 + 2 + 3 + 1
    model.train()
    model.step(frame, state)
    assert len(passes) == 3 + 2 + 3 + 1 + 4


# ------------------------------------------------------------------------------------------------ encoder


@torch.no_grad()
@pytest.mark.parametrize("ours", [False, True], ids=["paper", "small"])
def test_encoder_slots_can_be_permuted(tiny: Make, distance: Distance, ours: bool) -> None:
    torch.manual_seed(0)
    part = EncoderConfig(channels=6, fine_channels=12, layers=1)
    if ours:
        part = dataclasses.replace(part, position_prior=True, gestalt_head="attended", size_head="bounded")
    encoder = Encoder(tiny(encoder=part)).double().eval()
    lively_weights(encoder)
    height, width = encoder.config.frame
    frame, error = torch.rand(2, 3, height, width).double(), torch.rand(2, 1, height, width).double()
    masks = torch.softmax(torch.randn(2, 4, height, width).double(), 1)
    objects, whole = torch.randn(2, 3, 3, height, width).double(), torch.rand(2, 3, height, width).double()
    before, order = codes(encoder.config), [1, 2, 0]
    active = Active.of(torch.ones(2, 3, dtype=torch.bool))
    sensed = encoder(frame, error, masks, objects, before, whole, active, None)
    other = encoder(
        frame, error, masks[:, [*order, 3]], permuted(objects, order), permuted(before, order), permuted(whole, order),
        active, None,
    )
    assert distance(permuted(sensed, order), other) < 1e-12
    assert distance(sensed.position[:, 0], sensed.position[:, 1]) > 1e-6


@torch.no_grad()
def test_order_of_the_encoders_input(tiny: Make) -> None:
    encoder = Encoder(tiny(colour_order="bgr")).double()
    height, width = encoder.config.frame
    frame = torch.stack([torch.full((height, width), c) for c in (0.1, 0.2, 0.3)]).unsqueeze(0).double()
    error = torch.full((1, 1, height, width), 0.4).double()
    masks = torch.tensor([0.5, 0.1, 0.2, 0.2]).double().view(1, 4, 1, 1).expand(-1, -1, height, width)
    objects = torch.arange(9.0).double().view(1, 3, 3, 1, 1).expand(-1, -1, -1, height, width)
    whole = torch.tensor([0.6, 0.7, 0.8]).double().view(1, 3, 1, 1).expand(-1, -1, height, width)
    before = codes(encoder.config, batch=1)
    x = encoder._inputs(frame, error, masks, objects, before, whole, Active.of(torch.ones(1, 3, dtype=torch.bool)))
    assert x.shape == (3, 12, height, width)
    gaussian = gaussian_map(before.position, before.size, encoder.config.frame)[0, 1, 2, 3]
    expected = [0.3, 0.2, 0.1, 0.4, 0.1, 0.7, 0.2, 5.0, 4.0, 3.0, float(gaussian), 0.7]
    assert x[1, :, 2, 3].tolist() == pytest.approx(expected)


def test_the_forced_gain_grows_whatever_the_loss(tiny: Make) -> None:
    encoder = Encoder(tiny()).double().train()
    with torch.no_grad():
        encoder.size_growth.fill_(0.7)
    maps = torch.randn(3, 4, 5).double().requires_grad_()
    size = encoder._size(maps)
    expected = torch.sigmoid(maps.detach() - 10).mean((1, 2)) * torch.tanh(torch.tensor(0.7).double())
    torch.testing.assert_close(size.detach(), expected)
    (1000 * size.sum()).backward()
    assert encoder.size_growth.grad is not None and encoder.size_growth.grad.tolist() == [-1.0]


@pytest.mark.parametrize(("gestalt", "channels"), [(12, 6), (6, 6), (6, 12)])
def test_the_gestalt_heads_skip(gestalt: int, channels: int) -> None:
    """More bits than channels: repeated; fewer: averaged over consecutive groups."""
    config = LociConfig(
        gestalt=gestalt, latent=(4, 5), encoder=EncoderConfig(channels=channels, fine_channels=12, layers=1),
        decoder=DecoderConfig(channels=6, fine_channels=6, layers=1),
    )
    head = GlobalGestalt(config).double()
    for parameter in head.parameters():
        nn.init.zeros_(parameter)
    features = torch.rand(2, channels, 4, 5).double()
    mean = features.mean((2, 3))
    expected = mean.repeat_interleave(2, 1) if gestalt > channels else mean.view(2, gestalt, -1).mean(2)
    torch.testing.assert_close(head(features, torch.ones(2, 4, 5).double()), expected)


class NoGestalt(nn.Module):
    def forward(self, features: Tensor, attention: Tensor) -> Tensor:
        return torch.zeros(features.shape[0], 6)


def test_position_is_the_expectation_of_the_attention(tiny: Make) -> None:
    config = tiny()
    rows, columns = grid(4, torch.zeros(1)), grid(5, torch.zeros(1))
    assert rows.tolist() == pytest.approx([-1, -1 / 3, 1 / 3, 1]) and columns.tolist() == [-1, -0.5, 0, 0.5, 1]
    encoder = Encoder(config).eval()
    peak = torch.full((3, 3, 4, 5), -50.0)
    peak[:, 1, 2, 4] = 50.0
    encoder.position_blocks = nn.Identity()     # type: ignore[assignment]
    encoder.trunk = nn.Identity()               # type: ignore[assignment]
    encoder._to_latent = lambda x: peak         # type: ignore[method-assign, assignment]
    encoder.gestalt_blocks = nn.Identity()      # type: ignore[assignment]
    encoder.gestalt_head = NoGestalt()          # type: ignore[assignment]
    height, width = config.frame
    only_first = Active.of(torch.tensor([[True, False, False]]))
    sensed = encoder(
        torch.zeros(1, 3, height, width), torch.zeros(1, 1, height, width), torch.zeros(1, 4, height, width),
        torch.zeros(1, 3, 3, height, width), codes(config, batch=1).to(dtype=torch.float32),
        torch.zeros(1, 3, height, width), only_first, None,
    )
    assert sensed.position[0, 0].tolist() == pytest.approx([1 / 3, 1.0])
    assert sensed.priority[0, 0].item() == pytest.approx(-1.0)
    assert not sensed.position[0, 1:].any()


@torch.no_grad()
def test_a_slot_looks_where_others_are_not_expected(tiny: Make) -> None:
    part = EncoderConfig(channels=6, fine_channels=12, layers=1, explaining_away=True)
    encoder = Encoder(tiny(encoder=part)).eval()
    encoder.position_blocks = nn.Identity()     # type: ignore[assignment]
    encoder.trunk = nn.Identity()               # type: ignore[assignment]
    encoder._to_latent = lambda x: torch.zeros(3, 3, 4, 5)      # type: ignore[method-assign, assignment]
    encoder.gestalt_blocks = nn.Identity()      # type: ignore[assignment]
    encoder.gestalt_head = NoGestalt()          # type: ignore[assignment]
    height, width = encoder.config.frame
    masks = torch.zeros(1, 4, height, width)
    masks[:, 1, :, : 2 * 4] = 1                 # the second slot fills the first two of five columns of cells
    sensed = encoder(
        torch.zeros(1, 3, height, width), torch.zeros(1, 1, height, width), masks,
        torch.zeros(1, 3, 3, height, width), codes(encoder.config, batch=1).to(dtype=torch.float32),
        torch.zeros(1, 3, height, width), Active.of(torch.ones(1, 3, dtype=torch.bool)), None,
    )
    weights = torch.tensor([0.05, 0.05, 1.05, 1.05, 1.05])
    expected = float((weights * grid(5, weights)).sum() / weights.sum())
    assert sensed.position[0, :, 1].tolist() == pytest.approx([expected, 0.0, expected], abs=1e-5)
    assert sensed.position[0, :, 0].tolist() == pytest.approx([0.0] * 3, abs=1e-5)


# ------------------------------------------------------------------------------------------------ transition


@pytest.fixture(params=["standard", "shared"])
def transition(request: pytest.FixtureRequest, tiny: Make) -> Transition:
    torch.manual_seed(0)
    kind = "shared" if request.param == "shared" else "standard"
    module = Transition(tiny(transition=TransitionConfig(kind=kind))).double().eval()
    lively_weights(module)
    return module


def remembered(transition: Transition, batch: int = 2) -> Memory:
    empty = transition.initial_memory(torch.zeros(1).double(), batch)
    return dataclasses.replace(empty, hidden=tuple(torch.randn_like(hidden) for hidden in empty.hidden))


@torch.no_grad()
def test_transition_slots_can_be_permuted(transition: Transition, distance: Distance) -> None:
    torch.manual_seed(1)
    memory, order = remembered(transition), [2, 0, 1]
    percept, closed = codes(transition.config), torch.rand(2, 3, 2).double()
    heard = torch.tensor([[True, True, False], [True, False, True]])
    moved = torch.zeros(2, 3, 2).double()
    ours, kept = transition(percept, closed, moved, memory, heard, None)
    theirs, kept_too = transition(
        permuted(percept, order), permuted(closed, order), moved, permuted(memory, order), permuted(heard, order), None
    )
    assert distance(permuted(ours, order), theirs) < 1e-12
    assert distance(permuted(kept, order), kept_too) < 1e-12


@torch.no_grad()
def test_what_is_imagined_keeps_its_look_size_and_order(tiny: Make) -> None:
    """However wild the weights: bits do not flip, and places, sizes and priorities stay within their limits."""
    torch.manual_seed(0)
    limit = 0.01
    config = tiny(transition=TransitionConfig(displacement=True, inertia=1.0, deviation=limit, persistence=6.0))
    transition = Transition(config).double().eval()
    lively_weights(transition)
    before = codes(config)
    before = dataclasses.replace(before, gestalt=(before.gestalt > 0.5).double())
    assert before.gestalt.any() and not before.gestalt.all()
    now, memory = before, transition.initial_memory(before.position, 2)
    still, shut = torch.zeros_like(before.position), torch.ones_like(before.position)
    for _ in range(20):
        now, memory = transition(now, shut, still, memory, None, None)
    assert torch.equal(now.gestalt > 0.5, before.gestalt > 0.5)
    assert ((now.gestalt - before.gestalt).abs() < 0.05).all()
    assert 0 < (now.position - before.position).abs().max() < 20 * limit + 1e-9
    assert 0 < (now.size - before.size).abs().max() < 2 * limit + 1e-9
    assert 0 < (now.priority - before.priority).abs().max() < 2 * limit + 1e-9


@torch.no_grad()
def test_unheard_slots_have_no_say(transition: Transition, distance: Distance) -> None:
    torch.manual_seed(1)
    memory, percept, closed = remembered(transition), codes(transition.config), torch.rand(2, 3, 2).double()
    heard = torch.tensor([[True, False, True]] * 2)
    still = torch.zeros(2, 3, 2).double()
    ours, _ = transition(percept, closed, still, memory, heard, None)
    shouting = dataclasses.replace(percept, gestalt=percept.gestalt.index_fill(1, torch.tensor(1), 9.0))
    theirs, _ = transition(shouting, closed, still, memory, heard, None)
    used = [0, 2]
    assert distance(permuted(ours, used), permuted(theirs, used)) == 0
    everyone, _ = transition(shouting, closed, still, memory, None, None)
    assert distance(permuted(ours, used), permuted(everyone, used)) > 1e-6


@torch.no_grad()
@pytest.mark.parametrize("name", ["adept", "clevrer", "balls"])
def test_the_transition_starts_as_an_identity(name: str) -> None:
    torch.manual_seed(0)
    model = LociLooped(name).double().eval()
    percept = codes(model.config)
    nowhere = torch.zeros(2, model.config.slots, 2).double()
    out, memory = model.transition(
        percept, nowhere, nowhere, model.transition.initial_memory(percept.size, 2), None, None
    )
    torch.testing.assert_close(out.position, percept.position, atol=1e-9, rtol=0)
    torch.testing.assert_close(out.priority, percept.priority, atol=1e-9, rtol=0)
    assert out.size.abs().max() < 1e-12
    assert any(bool(hidden.any()) for hidden in memory.hidden)


@torch.no_grad()
def test_the_released_shared_transition_runs_all_attention_layers_every_round(tiny: Make) -> None:
    for official, calls in ((True, 9), (False, 3)):
        config = tiny(transition=TransitionConfig(kind="shared", layers=3), official=official)
        transition, seen = Transition(config).double().eval(), []
        for layer in transition.attention:
            layer.register_forward_hook(lambda *_, seen=seen: seen.append(1))
        transition(
            codes(config), torch.zeros(2, 3, 2).double(), torch.zeros(2, 3, 2).double(),
            transition.initial_memory(torch.zeros(1).double(), 2), None, None,
        )
        assert len(seen) == calls


def test_attention_agrees_with_pytorch(tiny: Make) -> None:
    """Weights and order of heads are those of nn.MultiheadAttention, which the released network uses."""
    transition = Transition(tiny()).double()
    ours = transition.attention[0]
    width = ours.project_out.in_features
    theirs = nn.MultiheadAttention(width, ours.heads, batch_first=True).double()
    with torch.no_grad():
        ours.gain.fill_(1.0)
        theirs.in_proj_weight.copy_(ours.project_in.weight)
        theirs.in_proj_bias.copy_(ours.project_in.bias)
        theirs.out_proj.load_state_dict(ours.project_out.state_dict())
        x = torch.randn(2, 3, width).double()
        torch.testing.assert_close(ours(x, None), x + theirs(x, x, x)[0])


# ------------------------------------------------------------------------------------------------ active slots


@given(st.integers(1, 12), st.integers(1, 4), st.data())
def test_fold_and_unfold(batch: int, slots: int, data: st.DataObject) -> None:
    used = data.draw(st.lists(st.booleans(), min_size=batch * slots, max_size=batch * slots))
    mask = torch.tensor(used).view(batch, slots)
    gathered, dense = Active.of(mask), Active(mask, None)
    x = torch.arange(1.0, 2 * batch * slots + 1).view(batch, slots, 2)
    count = gathered.fold(x).shape[0]
    assert max(1, sum(used)) <= count <= min(batch * slots, sum(used) + batch * slots / SIZES + 1)
    assert dense.fold(x).shape[0] == batch * slots
    expected = torch.where(mask.unsqueeze(-1), x, torch.full_like(x, -7.0))
    assert torch.equal(gathered.unfold(gathered.fold(x), fill=-7.0), expected)
    assert torch.equal(dense.unfold(dense.fold(x), fill=-7.0), expected)
    total = (x * mask.unsqueeze(-1)).sum(1)
    assert torch.equal(gathered.sum_slots(gathered.fold(x)), total)
    assert torch.equal(dense.sum_slots(dense.fold(x)), total)


@pytest.mark.parametrize("kind", ["standard", "shared"])
def test_gathering_active_slots_is_exact(
    lively: Callable[..., Any], distance: Distance, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Working on the slots in use only, and working on all of them and masking, are the same network."""
    scene = lively(kind, mode="train")
    folded: list[int] = []
    scene.model.decoder.trunk.register_forward_pre_hook(lambda module, inputs: folded.append(inputs[0].shape[0]))

    def run() -> tuple[Any, list[Tensor]]:
        scene.model.zero_grad()
        state = scene.model.initial(scene.background)
        loss: Tensor = torch.zeros(()).double()
        for t in range(5):
            state, out = scene.model.step(scene.video[:, t], state, warmup=t < 2)
            loss = loss + out.ahead.frame.square().mean() + out.predicted.position.square().mean()
            loss = loss + out.sensed.gestalt.mean() + out.present.object_masks.mean()
        loss.backward()
        return (state, out), [p.grad for p in scene.model.parameters() if p.grad is not None]

    gathered, gradients = run()
    assert min(folded) < 6 and not gathered[1].assigned.all(), "some slot must be unused, or nothing is gathered"
    monkeypatch.setattr(Active, "of", staticmethod(lambda assigned: Active(assigned, None)))
    dense, dense_gradients = run()
    assert distance(gathered, dense) < 1e-12
    assert distance(tuple(gradients), tuple(dense_gradients)) < 1e-11
