"""Which charts a report has: each takes its curves from the results, so a report can be drawn from JSON files alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from loci_looped.evaluation.experiments.results import Case, Curve, Results
from loci_looped.evaluation.metrics.surprise import REAPPEARANCE, SCREEN_FALLS
from loci_looped.evaluation.report.charts import Bar, Bars, Chart, Cloud, Line, Shade
from loci_looped.evaluation.report.tables import called

Drawing = Chart | Bars | Cloud
SWEEPS = {"psnr": "PSNR, dB", "ssim": "SSIM", "ari": "ARI", "fg_ari": "FG-ARI", "miou": "mIoU"}
STANDARD_ERROR = "Bands are one standard error."


def line_of(curve: Curve | None, name: str, colour: int, dashed: bool = False) -> Line | None:
    return None if curve is None else Line(name, curve.x, curve.y, curve.low, curve.high, colour, dashed)


def _lines(*found: Line | None) -> list[Line]:
    return [line for line in found if line is not None]


def hidden_spans(x: Sequence[float], hidden: Sequence[float | None], words: str = "hidden") -> list[Shade]:
    """Where more than half of the tracked movers are out of sight."""
    shades: list[Shade] = []
    begun: float | None = None
    for place, share in zip([*x, None], [*hidden, None], strict=True):
        covered = share is not None and share > 0.5
        if covered and begun is None:
            begun = place
        elif not covered and begun is not None:
            shades.append(Shade(begun, place if place is not None else x[-1], words))
            begun = None
    return shades


def tracking_figures(results: Results) -> list[Drawing]:
    """Distance over time for every model, and the gates of those whose gates move."""
    cases = results.cases(results.experiment, "mota")
    errors = [line_of(results.find_curve(case, "error_over_time"), called(case), 1 + index % 6)
              for index, case in enumerate(cases)]
    hidden = results.find_curve(cases[0], "hidden_share_over_time") if cases else None
    shades = [] if hidden is None else hidden_spans(hidden.x, hidden.y)
    drawn: list[Drawing] = [Chart(
        "Distance to the true place over time", "frame", "error, % of diagonal", _lines(*errors), shades,
        f"Control scenes. Shaded: most movers are wholly behind the screen. {STANDARD_ERROR}",
    )]
    for case in cases:
        gates = _lines(*(
            line_of(results.find_curve(case, f"{gate}_gate_over_time"), f"{gate} gate", colour)
            for gate, colour in (("position", 1), ("gestalt", 2))
        ))
        if gates and case.gate in ("learned", "visibility"):      # an open gate is a straight line
            drawn.append(Chart(f"Gate openings: {called(case)}", "frame", "opening α", gates, shades,
                               f"0 is pure imagination, 1 pure sensation. {STANDARD_ERROR}", top=1.0))
    return drawn


def surprise_figures(results: Results) -> list[Drawing]:
    """The paper's figure: slot error, expected area and gates of vanished and of returning objects; then the peaks."""
    return [drawing for case in results.cases("surprise", "vanished_slots") for drawing in _of_case(results, case)]


def _of_case(results: Results, case: Case) -> list[Drawing]:
    def pair(quantity: str) -> list[Line]:
        return _lines(
            line_of(results.find_curve(case.under("vanished"), quantity), "vanished", 3),
            line_of(results.find_curve(case.under("control"), quantity), "comes back (control)", 1),
        )

    visible = results.find_curve(case.under("control"), "visible_over_time")
    last = visible.x[-1] if visible else 79.0
    windows = [Shade(REAPPEARANCE.first, REAPPEARANCE.last or last, "should reappear"),
               Shade(SCREEN_FALLS.first, last, "screen falls")]
    hidden = [] if visible is None else hidden_spans(
        visible.x, [None if value is None else 1 - value for value in visible.y])
    drawn: list[Drawing] = [
        Chart(f"Surprise over time: {called(case)}", "frame", "slot error S", pair("slot_error_over_time"), windows,
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
            peaks = results.find_curve(case.under(window), f"{side}_peaks")
            values = [] if peaks is None else [value for value in peaks.y if value is not None]
            columns.append((f"{words}\n{side}", values, colour))
    if any(values for _, values, _ in columns):
        drawn.append(Cloud("Peaks of surprise, one dot per object", "largest slot error", columns,
                           "What the two t-tests compare; the line is the mean."))
    return [*drawn, *violation_figures(results, case.gate)]


def violation_figures(results: Results, gate: str) -> list[Drawing]:
    bars: list[Bar] = []
    for case in results.cases("violations", "slot_accuracy"):
        for measure, colour in (("bits", 3), ("slot", 1), ("frame", 2)):
            row = results.find(case, f"{measure}_accuracy")
            if row is not None and case.gate == gate:
                words = case.condition[0] if not bars or bars[-1].colour == 2 else ""
                bars.append(Bar(words, row.value, row.low, row.high, colour))
    if not bars:
        return []
    return [Bars(
        "Which of two matched films surprises more?", bars, 50.0,
        legend=[("in bits", 3), ("by slot error", 1), ("by frame error", 2)],
        note="Share of pairs in which the impossible film does, with 95 % intervals. The dashed line is chance.",
    )]


def interruption_figures(results: Results) -> list[Drawing]:
    """Quality in the dark and in the light against the share of dark frames."""
    cases = list(dict.fromkeys(
        replace(case, condition=()) for case in results.cases("interruptions", "blackout_rate")))
    drawn: list[Drawing] = []
    for metric, words in SWEEPS.items():
        lines = []
        for index, case in enumerate(cases):
            for part, dashed in (("blackout", False), ("visible", True)):
                where = "in the dark" if part == "blackout" else "in the light"
                curve = results.find_curve(case.under("sweep", part), metric)
                lines.append(line_of(curve, f"{called(case)}, {where}", 1 + index, dashed))
        title = f"{words.split(',')[0]} against the share of dark frames"
        bottom = None if metric == "psnr" else 0.0
        drawn.append(Chart(title, "dark frames, %", words, _lines(*lines), bottom=bottom, dots=True))
    return drawn


def imagination_figures(results: Results) -> list[Drawing]:
    cases = results.cases("imagination", "failed")
    drawn: list[Drawing] = []
    for scenario in dict.fromkeys(case.condition[0] for case in cases):
        chosen = [case for case in cases if case.condition[0] == scenario]
        lines = [line_of(results.find_curve(case, "distance_over_time"), f"{called(case)}, {case.condition[1]}",
                         1 + index % 6) for index, case in enumerate(chosen)]
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
