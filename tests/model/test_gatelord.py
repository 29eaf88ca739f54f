"""GateL0RD: e-prop by history against traces that are really kept, and the cell's own gradients."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from loci_looped.model.gatelord import GateL0RD
from loci_looped.model.released.parts import ReleasedGateL0RD
from loci_looped.model.state import TraceStep

N, SAMPLES, L0 = 7, 5, 1e-3


class NaiveCell(torch.autograd.Function):
    """The released way: one N x 2N trace per sample and weight matrix, decayed and added to at every step."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, h: Tensor, w_g: Tensor, b_g: Tensor, w_r: Tensor, b_r: Tensor, traces: dict[str, Tensor]
    ) -> Tensor:
        z = torch.cat([x, h], 1)
        g = torch.relu(torch.tanh(z @ w_g.T + b_g))
        r = torch.tanh(z @ w_r.T + b_r)
        is_open = (g > 0).to(g.dtype)
        a_g, a_r = (1 - g**2) * is_open * (r - h), (1 - r**2) * g
        ones = torch.ones_like(z[:, :1])
        for name, factor in (("g", a_g), ("r", a_r)):
            outer = factor[:, :, None] * torch.cat([z, ones], 1)[:, None, :]        # (n, N, 2N + 1), bias last
            traces[name] = (1 - g)[:, :, None] * traces[name] + outer
        ctx.save_for_backward(z, g, r, h, is_open, w_g, w_r, traces["g"].clone(), traces["r"].clone())
        return g * r + (1 - g) * h

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        (delta,) = gradients
        z, g, r, h, is_open, w_g, w_r, e_g, e_r = ctx.saved_tensors
        slope = (1 - g**2) * is_open
        pressure = L0 * is_open * slope
        with_bias = torch.cat([z, torch.ones_like(z[:, :1])], 1)
        d_g = (delta[:, :, None] * e_g).sum(0) + pressure.T @ with_bias
        d_r = (delta[:, :, None] * e_r).sum(0)
        q_g, q_r = (delta * (r - h) + L0 * is_open) * slope, delta * g * (1 - r**2)
        d_z = q_g @ w_g + q_r @ w_r
        width = h.shape[1]
        d_h = delta * (1 - g) + d_z[:, width:]
        return d_z[:, :width], d_h, d_g[:, :-1], d_g[:, -1], d_r[:, :-1], d_r[:, -1], None


def cell(credit: str = "eprop", kind: type[GateL0RD] = GateL0RD) -> GateL0RD:
    torch.manual_seed(3)
    layer = kind(N, L0, "bptt" if credit == "bptt" else "eprop").double()
    with torch.no_grad():
        # Some gates open, most shut, as in a trained network; a wide-open gate would forget the past at once.
        layer.gate.weight.mul_(0.5)
        layer.gate.bias.normal_(-0.1, 0.3)
        layer.candidate.bias.normal_(0, 0.3)
    return layer


def gradients(layer: GateL0RD) -> dict[str, Tensor]:
    return {name: p.grad.clone() for name, p in layer.named_parameters() if p.grad is not None}


@pytest.mark.parametrize(("window", "count_twice"), [(1, True), (1, False), (2, True), (5, True), (5, False)])
def test_history_equals_traces_over_50_steps(window: int, count_twice: bool) -> None:
    """Gradients of the weights and of the inputs, at every update of a sequence of 50 steps."""
    torch.manual_seed(0)
    steps = 50
    inputs = torch.randn(steps, SAMPLES, N).double()
    readout = torch.randn(steps, SAMPLES, N).double()
    layer = cell(kind=ReleasedGateL0RD if count_twice else GateL0RD)
    worst, largest_past = 0.0, 0.0

    history: tuple[TraceStep, ...] = ()
    h_ours = h_naive = torch.zeros(SAMPLES, N).double()
    traces = {name: torch.zeros(SAMPLES, N, 2 * N + 1).double() for name in "gr"}
    loss_ours, loss_naive, xs_ours, xs_naive = torch.zeros(()), torch.zeros(()), [], []
    for t in range(steps):
        x_ours, x_naive = inputs[t].clone().requires_grad_(), inputs[t].clone().requires_grad_()
        xs_ours.append(x_ours)
        xs_naive.append(x_naive)
        out, h_ours, history = layer(x_ours, h_ours, history)
        remembered = h_naive if count_twice else h_naive.detach()
        weights = layer.gate.weight, layer.gate.bias, layer.candidate.weight, layer.candidate.bias
        h_naive = NaiveCell.apply(x_naive, remembered, *weights, traces)
        z = torch.cat([x_naive, h_naive], 1)
        naive_out = torch.sigmoid(layer.output_gate(z)) * torch.tanh(layer.output(z))
        loss_ours = loss_ours + (readout[t] * out).sum()
        loss_naive = loss_naive + (readout[t] * naive_out).sum()
        if (t + 1) % window == 0:
            layer.zero_grad()
            loss_ours.backward()
            ours = gradients(layer) | {f"x{i}": x.grad for i, x in enumerate(xs_ours)}
            layer.zero_grad()
            loss_naive.backward()
            theirs = gradients(layer) | {f"x{i}": x.grad for i, x in enumerate(xs_naive)}
            assert ours.keys() == theirs.keys()
            for name in ours:
                scale = theirs[name].abs().max().clamp(min=1e-3)
                worst = max(worst, ((ours[name] - theirs[name]).abs().max() / scale).item())
            with_past = theirs["gate.weight"]
            present_only = _present_only(layer, inputs[t], h_before=history[-1].inputs[:, N:], readout=readout[t])
            largest_past = max(largest_past, (with_past - present_only).abs().max().item())
            loss_ours, loss_naive, xs_ours, xs_naive = torch.zeros(()), torch.zeros(()), [], []
            h_ours, h_naive = h_ours.detach(), h_naive.detach()
    assert len(history) == steps
    assert worst < 1e-12
    assert largest_past > 0.1, "the past must matter, or the comparison would be empty"


def _present_only(layer: GateL0RD, x: Tensor, h_before: Tensor, readout: Tensor) -> Tensor:
    layer.zero_grad()
    (layer(x, h_before, ())[0] * readout).sum().backward()
    assert layer.gate.weight.grad is not None
    return layer.gate.weight.grad


def test_the_first_step_of_eprop_is_the_true_gradient() -> None:
    x, h = torch.randn(SAMPLES, N).double(), torch.randn(SAMPLES, N).double()
    by_credit = {}
    for credit in ("eprop", "bptt"):
        layer = cell(credit, ReleasedGateL0RD)        # which lets gradients through to the memory, as bptt does
        layer.l0_weight = 0.0
        inputs = x.clone().requires_grad_(), h.clone().requires_grad_()
        out, new, _ = layer(*inputs, ())
        (out.sum() + new.square().sum()).backward()
        by_credit[credit] = [*gradients(layer).values(), *(i.grad for i in inputs)]
    for ours, theirs in zip(by_credit["eprop"], by_credit["bptt"], strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


def test_unrolled_gradients_are_those_of_finite_differences() -> None:
    layer = cell("bptt")
    layer.l0_weight = 0.0
    x = torch.randn(3, 2, N).double().requires_grad_()

    def three_steps(x: Tensor, w_gate: Tensor, w_candidate: Tensor) -> Tensor:
        weights = {"gate.weight": w_gate, "candidate.weight": w_candidate}
        h: Tensor = torch.zeros(2, N).double()
        for t in range(3):
            out, h, _ = torch.func.functional_call(layer, weights, (x[t], h, ()))
        return (out + h).sum()

    weights = [w.detach().clone().requires_grad_() for w in (layer.gate.weight, layer.candidate.weight)]
    assert torch.autograd.gradcheck(three_steps, (x, *weights), atol=1e-6)


def test_memory_stays_exactly_as_it_is_while_the_gate_is_shut() -> None:
    layer = cell()
    with torch.no_grad():
        layer.gate.weight.zero_()
        layer.gate.bias.fill_(-0.5)
    h = torch.randn(SAMPLES, N).double()
    _, new, history = layer(torch.randn(SAMPLES, N).double(), h, ())
    assert torch.equal(new, h)
    (step,) = history
    assert not step.gate_factor.any() and not step.candidate_factor.any() and bool((step.keep == 1).all())


def test_forward_by_hand() -> None:
    layer = GateL0RD(1, 0.0, "bptt")
    with torch.no_grad():
        for linear, row, bias in (
            (layer.gate, [[1.0, 0.5]], 0.1), (layer.candidate, [[-0.5, 1.0]], 0.2),
            (layer.output, [[0.3, 0.4]], 0.0), (layer.output_gate, [[-0.2, 0.6]], 0.1),
        ):
            linear.weight.copy_(torch.tensor(row))
            linear.bias.fill_(bias)
        x, h = torch.tensor([[0.4]]), torch.tensor([[-0.2]])
        out, new, _ = layer(x, h, ())
    g, r = torch.tanh(torch.tensor(0.4)), torch.tanh(torch.tensor(-0.2))     # 0.4 - 0.1 + 0.1 and -0.2 - 0.2 + 0.2
    expected = g * r + (1 - g) * -0.2
    assert new.item() == pytest.approx(expected.item(), abs=1e-6)
    gate = torch.sigmoid(-0.08 + 0.6 * expected + 0.1)
    assert out.item() == pytest.approx((gate * torch.tanh(0.12 + 0.4 * expected)).item(), abs=1e-6)


def test_no_history_is_kept_without_gradients_or_with_unrolling() -> None:
    x, h = torch.randn(SAMPLES, N).double(), torch.zeros(SAMPLES, N).double()
    with torch.no_grad():
        assert cell()(x, h, ())[2] == ()
    assert cell("bptt")(x, h, ())[2] == ()


def test_history_is_smaller_than_traces() -> None:
    """A clip of the paper (50 steps) at the paper's width: numbers kept per sample and layer."""
    width, steps = 204, 50
    layer = GateL0RD(width, L0, "eprop")
    history: tuple[TraceStep, ...] = ()
    hidden = torch.zeros(1, width)
    for _ in range(steps):
        _, hidden, history = layer(torch.randn(1, width), hidden.detach(), history)
    kept = sum(
        leaf.numel() for step in history for leaf in (step.gate_factor, step.candidate_factor, step.keep, step.inputs)
    )
    assert kept == steps * 5 * width
    traces = 2 * width * (2 * width + 1)
    assert kept < 0.4 * traces


def test_weights_start_in_the_original_range() -> None:
    layer = GateL0RD(204, 0.0, "eprop")
    limit = (3 / 204) ** 0.5
    for linear in (layer.gate, layer.candidate, layer.output, layer.output_gate):
        assert limit * 0.99 < linear.weight.abs().max() <= limit
        assert not F.relu(linear.bias.abs()).any()
