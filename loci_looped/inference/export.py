"""The time step as a graph that runs without this package: torch.export (.pt2) and ONNX (.onnx), evaluation only.

Two graphs make a stream: `warmup` looks at the first frame a few times, `step` takes every frame after that. A graph
takes the frame and the tensors of a state, and returns those of the next state and of what the step tells. One graph
serves every step, the very first included, and any number of streams; slots not in use are computed and masked.
"""

from __future__ import annotations

import copy
import dataclasses
import importlib.util
import io
import json
import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from loci_looped import __version__
from loci_looped.inference.run import scan
from loci_looped.model import WARM_UP_STEPS, LociConfig, LociLooped, LociState, StepOutput
from loci_looped.model.state import TensorTree
from loci_looped.utils.atomic import write_bytes, write_text
from loci_looped.utils.errors import LociError

Form = Literal["torch", "onnx"]
Graph = Literal["warmup", "step"]
GRAPHS: tuple[Graph, ...] = ("warmup", "step")
SIGNATURE = "signature.json"
NEEDED: dict[Form, tuple[str, ...]] = {"torch": (), "onnx": ("onnx", "onnxscript", "onnxruntime")}
SUFFIX: dict[Form, str] = {"torch": ".pt2", "onnx": ".onnx"}


def named_leaves(tree: Any, name: str) -> Iterator[tuple[str, Tensor]]:
    """The tensors of a state or an output, each with its path: ("state.predicted.gestalt", ...)."""
    if isinstance(tree, Tensor):
        yield name, tree
    elif isinstance(tree, TensorTree):
        for field in dataclasses.fields(tree):  # type: ignore[arg-type]
            yield from named_leaves(getattr(tree, field.name), f"{name}.{field.name}")
    elif isinstance(tree, tuple):
        for i, item in enumerate(tree):
            yield from named_leaves(item, f"{name}.{i}")


def refilled(like: Any, tensors: Iterator[Tensor]) -> Any:
    """A tree of the same form with other tensors, in the order of `named_leaves`."""
    return like.map(lambda _: next(tensors))


def one_step(model: LociLooped, frame: Tensor, state: LociState, *, warmup: bool) -> tuple[LociState, StepOutput]:
    return model.settle(frame, state) if warmup else model.step(frame, state)



class FlatStep(nn.Module):
    """(frame, the state's tensors...) -> (the next state's tensors..., the output's tensors...)"""

    def __init__(self, model: LociLooped, like: LociState, *, warmup: bool):
        super().__init__()
        self.model, self.like, self.warmup = model, like, warmup

    def forward(self, frame: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
        # "Fresh" also covers streams at their very first step, so that one graph serves all of them.
        state = dataclasses.replace(refilled(self.like, iter(tensors)), fresh=True)
        state, output = one_step(self.model, frame, state, warmup=self.warmup)
        leaves = [*named_leaves(state, "state"), *named_leaves(output, "output")]
        # A graph's outputs must be tensors of their own, not inputs handed through.
        return tuple(tensor.clone() for _, tensor in leaves)


@dataclasses.dataclass(frozen=True)
class Captured:
    """One graph, with the names and an example of what goes in and comes out."""

    program: torch.export.ExportedProgram
    config: LociConfig
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    example: tuple[Tensor, ...]


@torch.no_grad()
def capture(model: LociLooped, *, warmup: bool) -> Captured:
    """Trace one step of a network in evaluation; the number of streams stays open."""
    model = copy.deepcopy(model).float().eval()
    frame = torch.full((2, 3, *model.config.frame), 0.5)
    state = model.initial(frame)
    flat = FlatStep(model, state, warmup=warmup)
    inputs = [("frame", frame), *named_leaves(state, "state")]
    following, output = one_step(model, frame, state, warmup=warmup)
    outputs = [*named_leaves(following, "next"), *named_leaves(output, "output")]
    streams = torch.export.Dim("streams", min=1)
    shapes = ({0: streams}, tuple({0: streams} for _ in inputs[1:]))
    # Tensors that stand in two places of a new state would become one input of the graph.
    example = tuple(tensor.clone() for _, tensor in inputs)
    program = torch.export.export(flat, example, dynamic_shapes=shapes, strict=False)
    return Captured(program, model.config, tuple(n for n, _ in inputs), tuple(n for n, _ in outputs), example)


def check_packages(form: Form) -> None:
    """Is there all that this form needs? Tracing a network takes a while, so it is asked first."""
    missing = [name for name in NEEDED[form] if importlib.util.find_spec(name) is None]
    if missing:
        raise LociError(
            f"The form {form} needs {' and '.join(missing)}: pip install 'loci-looped[export]', or write the form "
            "\"torch\", which needs nothing more."
        )


def write_graphs(folder: str | Path, model: LociLooped, form: Form) -> list[Path]:
    """Write both graphs, and a signature that names and shapes everything that goes in and comes out."""
    check_packages(form)
    return [write_graph(folder, capture(model, warmup=graph == "warmup"), graph, form) for graph in GRAPHS]


def write_graph(folder: str | Path, captured: Captured, graph: Graph, form: Form) -> Path:
    """Write one graph; the signature is the same for both."""
    path = Path(folder) / f"{graph}{SUFFIX[form]}"
    # First in memory: on a full disk the writers of torch and ONNX end the whole program.
    write_bytes(path, onnx_bytes(captured) if form == "onnx" else torch_bytes(captured))
    write_text(path.with_name(SIGNATURE), json.dumps(signature(captured), indent=2) + "\n")
    return path


def torch_bytes(captured: Captured) -> bytes:
    """The graph as a .pt2 file."""
    content = io.BytesIO()
    torch.export.save(captured.program, content)
    return content.getvalue()


def onnx_bytes(captured: Captured) -> bytes:
    """The graph as an .onnx file; needs the extra `export`."""
    return bytes(to_onnx(captured).model_proto.SerializeToString())


def to_onnx(captured: Captured) -> Any:
    """The graph in ONNX; needs the extra `export`."""
    check_packages("onnx")
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)     # it laments packages nobody needs here
    with warnings.catch_warnings(action="ignore"):
        return torch.onnx.export(
            captured.program, captured.example, dynamo=True, input_names=list(captured.inputs),
            output_names=list(captured.outputs), verbose=False,
            optimize=False,     # the optimiser mixes up outputs that are the same tensor; runtimes optimise anyway
        )


def open_graph(path: Path) -> Callable[..., Sequence[Tensor]]:
    """A written graph as a function of tensors."""
    if path.suffix == SUFFIX["torch"]:
        module = torch.export.load(path).module()
        return lambda *tensors: module(*tensors)
    check_packages("onnx")
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [entry.name for entry in session.get_inputs()]

    def run(*tensors: Tensor) -> list[Tensor]:
        # An input the graph does not need is none of its inputs.
        given = dict(zip(signature_names(path.parent), tensors, strict=True))
        return [torch.as_tensor(array) for array in session.run(None, {name: given[name].numpy() for name in names})]

    return run


def signature_names(folder: Path) -> list[str]:
    return [entry["name"] for entry in json.loads((folder / SIGNATURE).read_text(encoding="utf-8"))["inputs"]]


@torch.no_grad()
def deviation(
    folder: str | Path, model: LociLooped, form: Form, *, graphs: Sequence[Graph] = GRAPHS, frames: int = 4,
    streams: int = 1,
) -> float:
    """The largest difference between the written graphs and the network itself, on a moving spot before grey."""
    folder, model = Path(folder), copy.deepcopy(model).float().eval()
    height, width = model.config.frame
    background = torch.full((streams, 3, height, width), 0.5)
    rows, columns = torch.arange(height).view(-1, 1), torch.arange(width)

    def shown(t: int) -> Tensor:
        # A peak between pixels: where two pixels were equally wrong, rounding would decide which slot goes where.
        spot = torch.exp(-((rows - height / 3.1) ** 2 + (columns - width / 4.3 - t) ** 2) / 8)
        frame = background.clone()
        frame[:, 0] += 0.5 * spot
        return frame

    opened = {graph: open_graph(folder / f"{graph}{SUFFIX[form]}") for graph in graphs}

    def step(given: tuple[Graph, int], state: LociState) -> tuple[LociState, float]:
        graph, t = given
        frame = shown(t)
        following, output = one_step(model, frame, state, warmup=graph == "warmup")
        ours = [tensor for _, tensor in (*named_leaves(following, ""), *named_leaves(output, ""))]
        theirs = opened[graph](frame, *(tensor for _, tensor in named_leaves(state, "")))
        gaps = ((a.double() - b.double()).abs().max().item() for a, b in zip(ours, theirs, strict=True))
        return following, max(gaps)

    inputs = [(graph, t) for graph in graphs for t in range(frames)]
    return max((gap for _, gap in scan(step, model.initial(background), inputs)), default=0.0)


def signature(captured: Captured) -> dict[str, Any]:
    return {
        "kind": "loci-looped graphs", "version": __version__, "network": captured.config.to_json(),
        "inputs": _described(captured.inputs, captured.example), "outputs": list(captured.outputs),
        "use": f"Fill the state as `begins` says, run `warmup` {WARM_UP_STEPS} times on the first frame, then `step` "
               "on every frame; each run's outputs `next.*` are the inputs `state.*` of the following one. Frames and "
               "background are RGB in [0, 1].",
    }


def _described(names: tuple[str, ...], example: tuple[Tensor, ...]) -> list[dict[str, Any]]:
    """Name, shape, type, and what the input holds at the beginning of a stream."""
    begins = {
        "frame": "the frame", "state.background": "the scene without objects", "state.next_frame.frame": "the same",
        "state.next_frame.visible_masks_with_background": "0 for every slot, 1 for the background, which is last",
    }
    return [
        {
            "name": name, "shape": ["streams", *tensor.shape[1:]], "type": str(tensor.dtype).removeprefix("torch."),
            "begins": begins.get(name, 0),
        }
        for name, tensor in zip(names, example, strict=True)
    ]
