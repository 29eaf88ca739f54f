"""The tables of a report: our numbers beside the published ones, the same for the page and for Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypedDict

from loci_looped.configs.experiments import PUBLISHED_PROBABILITY
from loci_looped.evaluation.evaluated_model import KALMAN
from loci_looped.evaluation.experiments.results import Case, Results
from loci_looped.evaluation.experiments.rollout import GUESSES, LENGTHS
from loci_looped.evaluation.experiments.summary import (
    FOUND,
    INTERRUPTIONS,
    INTERRUPTIONS_RELEASED,
    MEASURES,
    OFFICIAL,
    TRACKING,
    accuracy_cells,
    cell,
    count,
    interval,
    probability,
    t_value,
)
from loci_looped.evaluation.report.published import PublishedRow, caveat, published, sources


@dataclass(frozen=True)
class Group:
    """Rows that were measured in the same way."""

    words: str
    rows: list[list[str]]
    ours: bool = True


@dataclass(frozen=True)
class Table:
    experiment: str
    title: str
    columns: list[str]
    groups: list[Group]
    note: str = ""
    commands: list[str] = field(default_factory=list)
    protocols: list[str] = field(default_factory=list)


SHOWN = {"learned": "gate learned", "open": "gate open", "visibility": "gate = visibility", "closed": "gate shut"}


def called(case: Case) -> str:
    """What a reader would call a model and the use of its gate."""
    if case.model == KALMAN:
        return "Kalman filter on true centroids"
    return f"{case.model}, {SHOWN.get(case.gate, case.gate)}" if case.gate else case.model


def tables(found: Sequence[Results]) -> list[Table]:
    """Everything there is, experiment by experiment."""
    made = [
        _tracking([r for r in found if r.experiment == "tracking"], "tracking", "Tracking"),
        _tracking([r for r in found if r.experiment == "ablation"], "ablation", "Side by side"),
        _openings([r for r in found if r.experiment == "tracking"]),
        _rollout([r for r in found if r.experiment == "tracking"]),
        _differences([r for r in found if r.experiment == "ablation"]),
        _surprise([r for r in found if r.experiment == "surprise"]),
        _violations([r for r in found if r.experiment == "surprise"]),
        _interruptions([r for r in found if r.experiment == "interruptions"]),
        _imagination([r for r in found if r.experiment == "imagination"]),
    ]
    return [table for table in made if table is not None]


class Sourced(TypedDict):
    commands: list[str]
    protocols: list[str]


def _sourced(found: Sequence[Results], experiment: str) -> Sourced:
    """Commands and protocols behind a table."""
    protocols = {row.protocol for results in found for row in results.rows if row.experiment == experiment}
    return {"commands": [results.command for results in found if results.command], "protocols": sorted(protocols)}


def _published_groups(rows: Sequence[PublishedRow], columns: Sequence[tuple[str, bool]]) -> list[Group]:
    """Published rows by source; columns are (key, with spread)."""
    groups = []
    for name, source in sources().items():
        own = [row for row in rows if row.source == name]
        chosen = [[row.model, *(row.cell(key, spread) for key, spread in columns)] for row in own]
        if chosen:
            groups.append(Group(f"Published: {source.words}", chosen, ours=False))
    return groups


def _tracking(found: Sequence[Results], experiment: str, title: str) -> Table | None:
    if not found:
        return None
    corrected, released = [], []
    for results in found:
        for case in results.cases(experiment, "mota"):
            cells = {column.heading: cell(results.find(case, column.metric), column.spread) for column in TRACKING}
            corrected.append([called(case), *cells.values()])
            cells = {column.heading: cell(results.find(case, column.metric), column.spread) for column in OFFICIAL}
            released.append([called(case), *(cells.get(column.heading, "–") for column in TRACKING)])
    columns = [(column.metric, column.spread) for column in TRACKING]
    return Table(
        experiment, f"{title}: error in % of the image diagonal", ["model", *(column.heading for column in TRACKING)],
        [Group("This package, corrected protocol", corrected),
         Group("This package, as the released code measures", released),
         *_published_groups(published("tracking"), columns)],
        caveat("tracking"), **_sourced(found, experiment),
    )


def _differences(found: Sequence[Results]) -> Table | None:
    rows = []
    for results in found:
        for case in results.cases("ablation", "difference_occluded"):
            first = Case("ablation", *results.settings["difference_from"])
            rows.append([called(case), called(first), interval(results.find(case, "difference_visible")),
                         interval(results.find(case, "difference_occluded"))])
    if not rows:
        return None
    return Table(
        "ablation", "How much larger the error is, on the same scenes",
        ["model", "than", "visible, % points", "occluded, % points"],
        [Group("Difference with its 95 % interval over scenes", rows)], "", **_sourced(found, "ablation"),
    )


def _openings(found: Sequence[Results]) -> Table | None:
    """One row per circumstance, in the order in which the experiment put them."""
    rows = []
    for results in found:
        for case in (case for case in results.cases("tracking", "position_gate") if case.gate == "learned"):
            position, gestalt = (results.find(case, f"{gate}_gate") for gate in ("position", "gestalt"))
            assert position is not None
            rows.append([called(case), case.condition[0], cell(position), cell(gestalt), str(position.n)])
    if not rows:
        return None
    return Table(
        "tracking", "Gate openings: 0 is pure imagination, 1 pure sensation",
        ["model", "of movers with", "position", "gestalt", "rows"],
        [Group("Mean over frames and slots; occlusion is the true hidden share", rows)], "",
        **_sourced(found, "tracking"),
    )


def _rollout(found: Sequence[Results]) -> Table | None:
    rows: dict[tuple[str, str], list[str]] = {}
    for results in found:
        for case in results.cases("tracking", "error_imagined"):
            for guess in GUESSES:
                rows.setdefault((called(case), guess), []).append(cell(results.find(case, f"error_{guess}")))
    if not rows:
        return None
    words = {"imagined": "as imagined", "frozen": "stays where it was", "straight": "straight on through six percepts"}
    return Table(
        "tracking", "Roll-out in the dark: error after so many imagined frames, in % of the diagonal",
        ["model", "guess", *(f"{length} frames" for length in LENGTHS)],
        [Group("Eyes shut after 12 seen frames",
               [[model, words[guess], *cells] for (model, guess), cells in rows.items()])],
        "Movers that move and were well seen when the eyes were shut. A mover may turn round meanwhile, which nobody "
        "can know.", **_sourced(found, "tracking"),
    )


def _two_tests(results: Results, case: Case, *measure: str) -> list[str]:
    """t, p and counts of both windows, of the slot error or of another measure."""
    cells = []
    for window in ("reappearance", "screen_falls"):
        own = case.under(window, *measure)
        n = (count(results.find(own, f"n_{side}")) for side in ("vanished", "control"))
        cells += [t_value(results, own), probability(results.find(own, "p_one_sided")), " / ".join(n)]
    return cells


def _surprise(found: Sequence[Results]) -> Table | None:
    rows = []
    for results in found:
        for case in results.cases("surprise", "vanished_slots"):
            rows.append([called(case), *_two_tests(results, case), *(
                cell(results.find(case.under(f"correlation_{name}"), "r")) for name in ("slot_error", "visible_mask")
            )])
            if results.find(case.under("reappearance", "bits"), "t") is not None:
                rows.append([f"{called(case)}, in bits", *_two_tests(results, case, "bits"), "–", "–"])
    if not rows:
        return None
    theirs = []
    for row in published("surprise"):
        cells = []
        for window in ("reappearance", "screen_falls"):
            t = f"t({row.cell(f'{window}/degrees')}) = {row.cell(f'{window}/t')}"
            cells += [t, row.cell(f"{window}/p_one_sided"), "–"]
        cells += [row.cell(f"correlation_{name}/r") for name in ("slot_error", "visible_mask")]
        theirs.append((row.source, [row.model, *cells]))
    groups = [Group(f"Published: {source.words}", [cells for own, cells in theirs if own == name], ours=False)
              for name, source in sources().items() if any(own == name for own, _ in theirs)]
    return Table(
        "surprise", "Surprise: is the slot of a vanished object more wrong than that of one that comes back?",
        ["model", "should reappear", "p, one-sided", "n vanished / control", "screen falls", "p, one-sided",
         "n vanished / control", "r of slot error", "r of expected area"],
        [Group("This package: largest slot error, one value per object", rows), *groups],
        caveat("surprise"), **_sourced(found, "surprise"),
    )


def _violations(found: Sequence[Results]) -> Table | None:
    rows = [
        [case.condition[0], called(case), *accuracy_cells(results, case)]
        for results in found for case in results.cases("violations", "slot_accuracy")
    ]
    if not rows:
        return None
    return Table(
        "surprise", "Matched pairs: how often the impossible film surprises more (%, chance is 50)",
        ["violation", "model", *MEASURES, "pairs"],
        [Group("Share with its 95 % bootstrap interval", rows)],
        "Two films are equal until something impossible happens behind the screen in one of them. From that moment on: "
        "surprise in bits (one ordinary film in 2^b holds something as unusual), all of it, and where "
        "it is largest; and the largest error of a slot that holds no screen, or of the whole predicted frame.",
        **_sourced(found, "violations"),
    )


def _interruptions(found: Sequence[Results]) -> Table | None:
    shown = (*INTERRUPTIONS, *FOUND, *INTERRUPTIONS_RELEASED)
    ours: dict[str, list[list[str]]] = {"blackout": [], "visible": []}
    for results in found:
        for case in results.cases("interruptions", "blackout_rate"):
            if abs(float(case.condition[0]) - PUBLISHED_PROBABILITY) < 1e-9:
                for part, rows in ours.items():
                    cells = (cell(results.find(case.under(part), column.metric)) for column in shown)
                    rows.append([called(case), *cells])
    if not any(ours.values()):
        return None
    columns = [(column.metric, False) for column in shown]
    groups = []
    for part, words in (("blackout", "predicted in the dark"), ("visible", "predicted from a visible frame")):
        groups.append(Group(f"This package, {words}", ours[part]))
        theirs = [row for row in published("interruptions") if row.values["part"] == part]
        groups += [replace(group, words=f"{group.words}, {words}") for group in _published_groups(theirs, columns)]
    return Table(
        "interruptions", "Interruptions: the frame predicted when 20 % of the frames are dark",
        ["model", *(column.heading for column in shown)], groups, caveat("interruptions"),
        **_sourced(found, "interruptions"),
    )


def _imagination(found: Sequence[Results]) -> Table | None:
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for results in found:
        for case in results.cases("imagination", "failed"):
            scenario, mode = case.condition
            row = rows.setdefault((called(case), mode), {})
            failed = results.value(case, "failed") or 0
            distance = interval(results.find(case, "distance_sum"))
            row[scenario] = distance + (f" ({failed:.0f} % failed)" if failed else "")
            row[f"official {scenario}"] = cell(results.find(case, "official_distance_sum"))
    if not rows:
        return None
    keys = ("interaction", "occlusion", "official interaction", "official occlusion")
    ours = [[model, mode, *(row.get(key, "–") for key in keys)] for (model, mode), row in rows.items()]
    groups = [Group("This package, all balls, zero error map", ours)]
    for name, source in sources().items():
        theirs = [[row.model, "–", "–", "–", row.cell("interaction", True), row.cell("occlusion", True)]
                  for row in published("imagination") if row.source == name]
        if theirs:
            groups.append(Group(f"Published: {source.words}", theirs, ours=False))
    return Table(
        "imagination", "Imagination: distance to the true balls, summed over ten unseen frames (image widths)",
        ["model", "shown", "collision", "no collision", "collision, released metric", "no collision, released metric"],
        groups, caveat("imagination"), **_sourced(found, "imagination"),
    )
