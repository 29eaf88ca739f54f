"""The numbers one wants to see first, as small tables of words: for the terminal, for Markdown, for the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loci_looped.evaluation.experiments.results import Results, plain

Rows = list[list[str]]
Headline = tuple[str, list[str], Rows]          # title, columns, rows


@dataclass(frozen=True)
class Column:
    """A column of a table over models: its heading, the last part of its key, and how its numbers are shown."""

    heading: str
    key: str
    spread: bool = False        # show ± and n


TRACKING = (
    Column("error visible %", "error_visible", True), Column("error occluded %", "error_occluded", True),
    Column("error overall %", "error_overall"), Column("successful %", "successful"),
    Column("movers found %", "movers_found"), Column("MOTA", "mota"),
    Column("inner loop visible %", "inner_loop_visible"), Column("inner loop occluded %", "inner_loop_occluded"),
)
OFFICIAL = (
    Column("error visible %", "official_error_visible", True),
    Column("error occluded %", "official_error_occluded", True), Column("successful %", "official_successful"),
    Column("MOTA", "official_mota"), Column("MOTA surprise", "official_mota_surprise"),
)


WINDOWS = {"reappearance": "should reappear (frames 31 to 49)", "screen_falls": "screen falls (from 51)"}
CORRELATIONS = {"slot_error": "slot error of the vanished", "visible_mask": "its expected visible area"}


def cell(results: Results, key: str, spread: bool = False) -> str:
    """A number as a table shows it; a dash where there is none."""
    number = results.numbers.get(key)
    if number is None or number.value is None:
        return "–"
    text = plain(number.value)
    return f"{text} ± {plain(number.std)}" if spread and number.std is not None else text


def count(results: Results, key: str) -> str:
    """A whole number, or degrees of freedom."""
    value = results.value(key)
    return "–" if value is None else f"{value:.4g}"


def models(results: Results, prefix: str, last: str) -> list[str]:
    """The names between the prefix and a known last part of a key, in the order in which they came."""
    found = []
    for key in results.numbers:
        if key.startswith(prefix + "/") and key.endswith("/" + last):
            found.append(key[len(prefix) + 1 : -len(last) - 1])
    return found


def over_models(results: Results, prefix: str, columns: Sequence[Column]) -> Rows:
    return [
        [name, *(cell(results, f"{prefix}/{name}/{column.key}", column.spread) for column in columns)]
        for name in models(results, prefix, "mota")
    ]


def headlines(results: Results) -> list[Headline]:
    """What the terminal shows of an experiment."""
    return {
        "tracking": _tracking, "ablation": _tracking, "surprise": _surprise, "interruptions": _interruptions,
        "imagination": _imagination,
    }[results.experiment](results)


def _upright(results: Results, prefix: str, columns: Sequence[Column]) -> tuple[list[str], Rows]:
    """Measures downwards, models to the right: a terminal is narrow."""
    names = models(results, prefix, "mota")
    rows = [
        [column.heading, *(cell(results, f"{prefix}/{name}/{column.key}", column.spread) for name in names)]
        for column in columns
    ]
    return ["", *names], rows


def _tracking(results: Results) -> list[Headline]:
    prefix, name = results.experiment, results.subject["name"]
    tables: list[Headline] = [
        (f"{name}: tracking, error in % of the image diagonal", *_upright(results, prefix, TRACKING)),
        ("The same as the released code measures it", *_upright(results, prefix, OFFICIAL)),
    ]
    rows = [
        [model, *(interval(results, f"{prefix}/{model}/difference_{part}") for part in ("visible", "occluded"))]
        for model in models(results, prefix, "difference_occluded")
    ]
    if rows:
        first = results.settings.get("difference_from", "the first")
        tables.append((f"How much larger the error is than that of {first}, with 95 % interval over scenes",
                       ["model", "visible, % points", "occluded, % points"], rows))
    return tables


def interval(results: Results, key: str) -> str:
    number = results.numbers.get(key)
    if number is None or number.value is None or number.low is None or number.high is None:
        return "–"
    return f"{plain(number.value)} [{plain(number.low)}, {plain(number.high)}]"


def _surprise(results: Results) -> list[Headline]:
    tables: list[Headline] = []
    for gate in models(results, "surprise", "vanished_slots"):
        tables.append((f"{results.subject['name']}, {gate} gate: largest slot error, vanished against control",
                       ["window", "vanished", "control", "t", "p, one-sided", "n"], windows(results, gate)))
        rows = [[words, cell(results, f"surprise/{gate}/correlation_{name}/r"),
                 probability(results, f"surprise/{gate}/correlation_{name}/p_two_sided")]
                for name, words in CORRELATIONS.items()]
        tables.append(("Correlation with the sight of those that come back (frames 25 to 39)", ["of", "r", "p"], rows))
        accuracies = violation_rows(results, gate)
        if accuracies:
            title = "Matched pairs: how often the impossible film surprises more, in % with 95 % interval (chance: 50)"
            tables.append((title, ["violation", "by slot error", "by frame error", "pairs"], accuracies))
    return tables


def windows(results: Results, gate: str) -> Rows:
    rows = []
    for name, words in WINDOWS.items():
        key = f"surprise/{gate}/{name}"
        degrees = count(results, f"{key}/degrees")
        t = cell(results, f"{key}/t")
        rows.append([
            words, cell(results, f"{key}/vanished_peak", True), cell(results, f"{key}/control_peak", True),
            t if t == "–" else f"t({degrees}) = {t}", probability(results, f"{key}/p_one_sided"),
            f"{count(results, f'{key}/n_vanished')}, {count(results, f'{key}/n_control')}",
        ])
    return rows


def violation_rows(results: Results, gate: str) -> Rows:
    rows = []
    for kind in models(results, f"violations/{gate}", "slot_accuracy"):
        count = results.numbers[f"violations/{gate}/{kind}/slot_accuracy"].n
        accuracies = (interval(results, f"violations/{gate}/{kind}/{name}_accuracy") for name in ("slot", "frame"))
        rows.append([kind, *accuracies, str(count)])
    return rows


def probability(results: Results, key: str) -> str:
    """A p-value as people write it."""
    value = results.value(key)
    return "–" if value is None else probability_words(value)


def probability_words(value: float) -> str:
    return "< .001" if value < 0.001 else f"{value:.3f}".lstrip("0") if value < 1 else "1"


INTERRUPTION_COLUMNS = (
    ("PSNR", "psnr"), ("SSIM", "ssim"), ("LPIPS", "lpips"), ("ARI", "ari"), ("FG-ARI", "fg_ari"), ("mIoU", "miou"),
    ("AR", "ar"), ("released mIoU", "official_miou"), ("released AR", "official_ar"),
)


def _interruptions(results: Results) -> list[Headline]:
    shown = [(heading, key) for heading, key in INTERRUPTION_COLUMNS if not key.startswith("official")]
    tables: list[Headline] = []
    names = [name.partition("/") for name in models(results, "interruptions", "blackout_rate")]
    for gate in dict.fromkeys(gate for gate, _, _ in names):
        rows = [
            [f"{100 * float(share):.0f}", part,
             *(cell(results, f"interruptions/{gate}/{share}/{part}/{key}") for _, key in shown)]
            for own, _, share in names if own == gate for part in ("blackout", "visible")
            if results.value(f"interruptions/{gate}/{share}/{part}/psnr") is not None
        ]
        tables.append((f"{results.subject['name']}, {gate} gate: what it predicts from dark and from light frames",
                       ["dark %", "from", *(heading for heading, _ in shown)], rows))
    return tables


def _imagination(results: Results) -> list[Headline]:
    rows = []
    for name in models(results, "imagination", "failed"):
        key = f"imagination/{name}"
        rows.append([*name.split("/"), interval(results, f"{key}/distance_sum"),
                     cell(results, f"{key}/official_distance_sum"), cell(results, f"{key}/failed"),
                     str(results.numbers[f"{key}/distance_sum"].n)])
    return [(f"{results.subject['name']}: distance summed over the first 10 imagined steps, in image widths",
             ["balls", "gate", "shown", "all balls", "released", "failed %", "n"], rows)]
