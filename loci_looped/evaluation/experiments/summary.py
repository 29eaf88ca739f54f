"""The figures one wants to see first, as small tables of words for the terminal; and how a figure is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loci_looped.evaluation.experiments.results import Case, Results, Row, plain

Cells = list[list[str]]
Table = tuple[str, list[str], Cells]            # title, columns, rows


@dataclass(frozen=True)
class Column:
    """A column of a table over models: its heading, its metric, and how its figures are shown."""

    heading: str
    metric: str
    spread: bool = False        # show ± and n


TRACKING = (
    Column("error visible %", "error_visible", True), Column("error occluded %", "error_occluded", True),
    Column("error overall %", "error_overall"), Column("successful %", "successful"),
    Column("movers found %", "movers_found"), Column("MOTA", "mota"),
    Column("false positives per frame", "false_positives_per_frame"),
    Column("frames with a phantom %", "phantom_frames"),
    Column("inner loop visible %", "inner_loop_visible"), Column("inner loop occluded %", "inner_loop_occluded"),
)
OFFICIAL = (
    Column("error visible %", "official_error_visible", True),
    Column("error occluded %", "official_error_occluded", True), Column("successful %", "official_successful"),
    Column("MOTA", "official_mota"), Column("MOTA surprise", "official_mota_surprise"),
)


WINDOWS = {"reappearance": "should reappear (frames 31 to 49)", "screen_falls": "screen falls (from 51)"}
CORRELATIONS = {"slot_error": "slot error of the vanished", "visible_mask": "its expected visible area"}


def cell(row: Row | None, spread: bool = False) -> str:
    """A figure as a table shows it; a dash where there is none."""
    if row is None or row.value is None:
        return "–"
    text = plain(row.value)
    return f"{text} ± {plain(row.std)}" if spread and row.std is not None else text


def count(row: Row | None) -> str:
    """A whole number, or degrees of freedom."""
    return "–" if row is None or row.value is None else f"{row.value:.4g}"


def interval(row: Row | None) -> str:
    """A figure with its 95 % interval."""
    if row is None or row.value is None or row.low is None or row.high is None:
        return "–"
    return f"{plain(row.value)} [{plain(row.low)}, {plain(row.high)}]"


def probability(row: Row | None) -> str:
    """A p-value as people write it."""
    return "–" if row is None or row.value is None else probability_words(row.value)


def probability_words(value: float) -> str:
    return "< .001" if value < 0.001 else f"{value:.3f}".lstrip("0") if value < 1 else "1"


def t_value(results: Results, case: Case) -> str:
    """t with its degrees of freedom: t(75) = 1.69."""
    t = cell(results.find(case, "t"))
    return t if t == "–" else f"t({count(results.find(case, 'degrees'))}) = {t}"


def summary(results: Results) -> list[Table]:
    """What the terminal shows of an experiment."""
    return {
        "tracking": _tracking, "ablation": _tracking, "surprise": _surprise, "interruptions": _interruptions,
        "imagination": _imagination,
    }[results.experiment](results)


def _upright(results: Results, columns: Sequence[Column]) -> tuple[list[str], Cells]:
    """Measures downwards, models to the right: a terminal is narrow."""
    cases = results.cases(results.experiment, "mota")
    rows = [
        [column.heading, *(cell(results.find(case, column.metric), column.spread) for case in cases)]
        for column in columns
    ]
    return ["", *(_short(case) for case in cases)], rows


def _short(case: Case) -> str:
    """The gate alone, where there is only one model."""
    if case.experiment == "ablation" and case.gate:
        return f"{case.model}/{case.gate}"
    return case.gate or case.model


def _tracking(results: Results) -> list[Table]:
    tables: list[Table] = [
        (f"{results.model['name']}: tracking, error in % of the image diagonal", *_upright(results, TRACKING)),
        ("The same as the released code measures it", *_upright(results, OFFICIAL)),
    ]
    rows = [
        [_short(case), *(interval(results.find(case, f"difference_{part}")) for part in ("visible", "occluded"))]
        for case in results.cases(results.experiment, "difference_occluded")
    ]
    if rows:
        first = _short(Case(results.experiment, *results.settings["difference_from"]))
        tables.append((f"How much larger the error is than that of {first}, with 95 % interval over scenes",
                       ["model", "visible, % points", "occluded, % points"], rows))
    return tables


def _surprise(results: Results) -> list[Table]:
    tables: list[Table] = []
    for case in results.cases("surprise", "vanished_slots"):
        tables.append((f"{case.model}, {case.gate} gate: largest slot error, vanished against control",
                       ["window", "vanished", "control", "t", "p, one-sided", "n"], _windows(results, case)))
        if any(results.find(case.under(name, "bits"), "t") for name in WINDOWS):
            headings = ["window", "vanished", "control", "t", "p, one-sided", "n"]
            tables.append(("The same of surprise in bits", headings, _windows(results, case, "bits")))
        rows = []
        for name, words in CORRELATIONS.items():
            own = case.under(f"correlation_{name}")
            rows.append([words, cell(results.find(own, "r")), probability(results.find(own, "p_two_sided"))])
        tables.append(("Correlation with the sight of those that come back (frames 25 to 39)", ["of", "r", "p"], rows))
        accuracies = [
            [pair.condition[0], *accuracy_cells(results, pair)]
            for pair in results.cases("violations", "slot_accuracy") if pair.gate == case.gate
        ]
        if accuracies:
            title = "Matched pairs: how often the impossible film surprises more, in % with 95 % interval (chance: 50)"
            tables.append((title, ["violation", *MEASURES, "pairs"], accuracies))
    return tables


def _windows(results: Results, case: Case, *measure: str) -> Cells:
    rows = []
    for name, words in WINDOWS.items():
        own = case.under(name, *measure)
        n = ", ".join(count(results.find(own, f"n_{side}")) for side in ("vanished", "control"))
        rows.append([
            words, cell(results.find(own, "vanished_peak"), True), cell(results.find(own, "control_peak"), True),
            t_value(results, own), probability(results.find(own, "p_one_sided")), n,
        ])
    return rows


def accuracy_cells(results: Results, case: Case) -> list[str]:
    """Of matched pairs of one violation: accuracy by each of `MEASURES`, and how many pairs."""
    rows = [results.find(case, f"{measure}_accuracy") for measure in ("bits", "peak", "slot", "frame")]
    return [*(interval(row) for row in rows), "–" if rows[2] is None else str(rows[2].n)]


MEASURES = ("by all bits", "by most bits", "by slot error", "by frame error")
"""How the two films of a pair are compared, in the order of `accuracy_cells`."""


INTERRUPTIONS = (
    Column("PSNR", "psnr"), Column("SSIM", "ssim"), Column("LPIPS", "lpips"), Column("ARI", "ari"),
    Column("FG-ARI", "fg_ari"), Column("mIoU", "miou"), Column("AR", "ar"),
)
FOUND = (
    Column("objects found", "found"), Column("slots per object", "slots_per_object"),
    Column("false positives per frame", "false_positives"),
)
INTERRUPTIONS_RELEASED = (Column("released mIoU", "official_miou"), Column("released AR", "official_ar"))


def _interruptions(results: Results) -> list[Table]:
    cases = results.cases("interruptions", "blackout_rate")
    tables: list[Table] = []
    for gate in dict.fromkeys(case.gate for case in cases):
        used = f"{results.model['name']}, {gate} gate" if gate else str(results.model['name'])
        kinds = ("what it predicts from dark and from light frames", INTERRUPTIONS), ("what it finds", FOUND)
        for words, columns in kinds:
            rows = [
                [f"{100 * float(case.condition[0]):.0f}", part,
                 *(cell(results.find(case.under(part), column.metric)) for column in columns)]
                for case in cases if case.gate == gate for part in ("blackout", "visible")
                if results.value(case.under(part), "psnr") is not None
            ]
            tables.append((f"{used}: {words}", ["dark %", "from", *(column.heading for column in columns)], rows))
    return tables


IMAGINATION = (
    Column("at 10", "distance_at_10"), Column("at 30", "distance_at_30"), Column("at 50", "distance_at_50"),
    Column("energy kept %", "energy_kept"), Column("in the box %", "in_box"), Column("percept off", "percept_error"),
    Column("released sum", "official_distance_sum"), Column("failed %", "failed"),
)


def _imagination(results: Results) -> list[Table]:
    rows = []
    for case in results.cases("imagination", "failed"):
        scenario, mode = case.condition
        distance = results.find(case, "distance_sum")
        later = [cell(results.find(case, column.metric)) for column in IMAGINATION]
        rows.append([scenario, _short(case), mode, interval(distance), *later,
                     "–" if distance is None else str(distance.n)])
    return [(f"{results.model['name']}: distance to the true balls, in image widths: sum over the first 10 imagined "
             "steps, then at single steps",
             ["balls", "gate or reference", "shown or known", "sum of 10", *(c.heading for c in IMAGINATION), "n"],
             rows)]
