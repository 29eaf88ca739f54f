"""Which charts a report has: each takes its curves from the results, so a report can be drawn from JSON files alone."""

from __future__ import annotations

from collections.abc import Sequence

from loci_looped.evaluation.experiments.results import Results, Series
from loci_looped.evaluation.experiments.summary import models
from loci_looped.evaluation.metrics.surprise import REAPPEARANCE, SCREEN_FALLS
from loci_looped.evaluation.report.charts import Bar, Bars, Chart, Cloud, Line, Shade
from loci_looped.evaluation.report.tables import called

Drawing = Chart | Bars | Cloud
SWEEPS = {"psnr": "PSNR, dB", "ssim": "SSIM", "ari": "ARI", "fg_ari": "FG-ARI", "miou": "mIoU"}
STANDARD_ERROR = "Bands are one standard error."


def line_of(series: Series | None, name: str, colour: int, dashed: bool = False, factor: float = 1.0) -> Line | None:
    if series is None:
        return None

    def scaled(values: Sequence[float | None]) -> list[float | None]:
        return [None if value is None else factor * value for value in values]

    return Line(name, series.x, scaled(series.y), scaled(series.low), scaled(series.high), colour, dashed)


def _lines(*found: Line | None) -> list[Line]:
    return [line for line in found if line is not None]


def hidden_spans(series: Series | None, words: str = "hidden") -> list[Shade]:
    """Where more than half of the tracked movers are out of sight."""
    if series is None:
        return []
    shades: list[Shade] = []
    begun: float | None = None
    for x, share in zip([*series.x, None], [*series.y, None], strict=True):
        covered = share is not None and share > 0.5
        if covered and begun is None:
            begun = x
        elif not covered and begun is not None:
            shades.append(Shade(begun, x if x is not None else series.x[-1], words))
            begun = None
    return shades


def tracking_figures(results: Results) -> list[Drawing]:
    """Distance over time for every model, and the gates of the first one that has any."""
    prefix, subject = results.experiment, results.subject["name"]
    names = models(results, prefix, "mota")
    errors = [line_of(results.series.get(f"{prefix}/{name}/error_over_time"), called(name, subject), 1 + index % 6)
              for index, name in enumerate(names)]
    shades = hidden_spans(results.series.get(f"{prefix}/{names[0]}/hidden_share_over_time")) if names else []
    drawn: list[Drawing] = [Chart(
        "Distance to the true place over time", "frame", "error, % of diagonal", _lines(*errors), shades,
        f"Control scenes. Shaded: most movers are wholly behind the screen. {STANDARD_ERROR}",
    )]
    for name in names:
        gates = _lines(*(
            line_of(results.series.get(f"{prefix}/{name}/{gate}_gate_over_time"), f"{gate} gate", colour)
            for gate, colour in (("position", 1), ("gestalt", 2))
        ))
        if gates and name.split("/")[-1] in ("learned", "visibility"):      # an open gate is a straight line
            drawn.append(Chart(f"Gate openings: {called(name, subject)}", "frame", "opening α", gates, shades,
                               f"0 is pure imagination, 1 pure sensation. {STANDARD_ERROR}", top=1.0))
    return drawn


def surprise_figures(results: Results) -> list[Drawing]:
    """The paper's figure: slot error, expected area and gates of vanished and of returning objects; then the peaks."""
    drawn: list[Drawing] = []
    for gate in models(results, "surprise", "vanished_slots"):
        drawn += _of_gate(results, gate)
    return drawn


def _of_gate(results: Results, gate: str) -> list[Drawing]:
    key, name = f"surprise/{gate}", called(gate, results.subject["name"])

    def pair(quantity: str) -> list[Line]:
        return _lines(
            line_of(results.series.get(f"{key}/vanished/{quantity}"), "vanished", 3),
            line_of(results.series.get(f"{key}/control/{quantity}"), "comes back (control)", 1),
        )

    visible = results.series.get(f"{key}/control/visible_over_time")
    last = visible.x[-1] if visible else 79.0
    windows = [Shade(REAPPEARANCE.first, REAPPEARANCE.last or last, "should reappear"),
               Shade(SCREEN_FALLS.first, last, "screen falls")]
    hidden = hidden_spans(None if visible is None else Series(
        visible.x, [None if value is None else 1 - value for value in visible.y]))
    drawn: list[Drawing] = [
        Chart(f"Surprise over time: {name}", "frame", "slot error S", pair("slot_error_over_time"), windows,
              f"Error of the predicted frame inside the slot's expected visible mask. {STANDARD_ERROR}"),
        Chart("What is expected to be seen of it", "frame", "expected area, pixels", pair("visible_area_over_time"),
              hidden, f"Size of the visible mask in the prediction. {STANDARD_ERROR}"),
        Chart("Position gate", "frame", "opening α", pair("position_gate_over_time"), hidden,
              f"The paper's figure of gate openings. {STANDARD_ERROR}", top=1.0),
        Chart("Gestalt gate", "frame", "opening α", pair("gestalt_gate_over_time"), hidden, STANDARD_ERROR, top=1.0),
    ]
    columns = []
    for window, words in (("reappearance", "reappear"), ("screen_falls", "falls")):
        for side, colour in (("vanished", 3), ("control", 1)):
            series = results.series.get(f"{key}/{window}/{side}_peaks")
            values = [] if series is None else [value for value in series.y if value is not None]
            columns.append((f"{words}\n{side}", values, colour))
    if any(values for _, values, _ in columns):
        drawn.append(Cloud("Peaks of surprise, one dot per object", "largest slot error", columns,
                           "What the two t-tests compare; the line is the mean."))
    return [*drawn, *violation_figures(results, gate)]


def violation_figures(results: Results, gate: str) -> list[Drawing]:
    bars = []
    for kind in models(results, f"violations/{gate}", "slot_accuracy"):
        for measure, colour in (("slot", 1), ("frame", 2)):
            number = results.numbers[f"violations/{gate}/{kind}/{measure}_accuracy"]
            words = kind if measure == "slot" else ""
            bars.append(Bar(words, number.value, number.low, number.high, colour))
    if not bars:
        return []
    return [Bars(
        "Which of two matched films surprises more?", bars, 50.0, legend=[("by slot error", 1), ("by frame error", 2)],
        note="Share of pairs in which the impossible film does, with 95 % intervals. The dashed line is chance.",
    )]


def interruption_figures(results: Results) -> list[Drawing]:
    """Quality in the dark and in the light against the share of dark frames."""
    gates = list(dict.fromkeys(name.partition("/")[0] for name in models(results, "interruptions", "blackout_rate")))
    drawn: list[Drawing] = []
    for metric, words in SWEEPS.items():
        lines = []
        for index, gate in enumerate(gates):
            for part, dashed in (("blackout", False), ("visible", True)):
                series = results.series.get(f"interruptions/{gate}/sweep/{part}/{metric}")
                where = "in the dark" if part == "blackout" else "in the light"
                name = f"{called(gate, results.subject['name'])}, {where}"
                lines.append(line_of(series, name, 1 + index, dashed))
        title = f"{words.split(',')[0]} against the share of dark frames"
        bottom = None if metric == "psnr" else 0.0
        drawn.append(Chart(title, "dark frames, %", words, _lines(*lines), bottom=bottom, dots=True))
    return drawn


def imagination_figures(results: Results) -> list[Drawing]:
    names = models(results, "imagination", "failed")
    drawn: list[Drawing] = []
    for scenario in dict.fromkeys(name.split("/")[0] for name in names):
        chosen = [name for name in names if name.startswith(scenario + "/")]
        lines = [line_of(results.series.get(f"imagination/{name}/distance_over_time"),
                         f"{called(name.split('/')[1], results.subject['name'])}, {name.split('/')[2]}", 1 + index % 6)
                 for index, name in enumerate(chosen)]
        drawn.append(Chart(
            f"Imagined balls drift: {scenario}", "steps since the last frame seen", "distance, image widths",
            _lines(*lines), [Shade(1, 10, "published")], f"Mean over all balls. {STANDARD_ERROR}",
        ))
    return drawn


def figures(results: Results) -> list[Drawing]:
    """All charts of one results file."""
    return {
        "tracking": tracking_figures, "ablation": tracking_figures, "surprise": surprise_figures,
        "interruptions": interruption_figures, "imagination": imagination_figures,
    }[results.experiment](results)
