"""Small charts as inline SVG: they take their colours from the page, so they are readable in the dark too."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

Values = Sequence[float | None]
Scale = Callable[[float], float]          # from a value to a place in the picture
WIDTH, HEIGHT = 480, 290
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 28, 46


@dataclass(frozen=True)
class Line:
    """A curve; `low` and `high` are the edges of its band, where there is one."""

    name: str
    x: Sequence[float]
    y: Values
    low: Values = ()
    high: Values = ()
    colour: int = 1             # of the page's palette
    dashed: bool = False


@dataclass(frozen=True)
class Shade:
    """A part of the x axis that means something."""

    first: float
    last: float
    words: str
    filled: bool = True         # or only named


@dataclass(frozen=True)
class Chart:
    title: str
    x: str
    y: str
    lines: Sequence[Line]
    shades: Sequence[Shade] = ()
    note: str = ""
    bottom: float | None = 0.0          # None: as low as the curves go
    top: float | None = None
    dots: bool = False                  # mark the points themselves: they are few
    logarithmic: bool = False


@dataclass(frozen=True)
class Bar:
    name: str
    value: float | None
    low: float | None
    high: float | None
    colour: int = 1


@dataclass(frozen=True)
class Bars:
    """Lying bars with intervals, for instance accuracies; `chance` is where nothing has been learnt."""

    title: str
    bars: Sequence[Bar]
    chance: float | None = None
    top: float = 100.0
    unit: str = "%"
    note: str = ""
    legend: Sequence[tuple[str, int]] = field(default_factory=tuple)


@dataclass(frozen=True)
class Cloud:
    """Single values in columns, each with its mean: what a test compares. A name may have two lines."""

    title: str
    y: str
    columns: Sequence[tuple[str, Sequence[float], int]]     # name, values, colour
    note: str = ""


def figure(chart: Chart | Bars | Cloud) -> str:
    """The chart with title, legend and note; a sentence in place of a chart without data."""
    title = f"<h3>{html.escape(chart.title)}</h3>"
    note = f"<figcaption>{html.escape(chart.note)}</figcaption>" if chart.note else ""
    if isinstance(chart, Bars):
        body = _bars(chart) + _legend(list(chart.legend))
    elif isinstance(chart, Cloud):
        body = _cloud(chart)
    else:
        drawn = [line for line in chart.lines if any(value is not None for value in line.y)]
        if not drawn:
            return f'<figure class="chart">{title}<p class="nothing">Nothing was measured for this figure.</p></figure>'
        names = [(line.name, line.colour) for line in drawn]
        body = _lines(chart, drawn) + _legend(names, [line.dashed for line in drawn])
        body += '<p class="readout" aria-live="polite"></p>'
    return f'<figure class="chart">{title}{body}{note}</figure>'


def _legend(entries: Sequence[tuple[str, int]], dashed: Sequence[bool] = ()) -> str:
    if not entries:
        return ""
    marks = [*dashed, *[False] * (len(entries) - len(dashed))]
    spans = "".join(
        f'<span><i class="c{colour}{" dashed" if dash else ""}"></i>{html.escape(name)}</span>'
        for (name, colour), dash in zip(entries, marks, strict=True)
    )
    return f'<div class="legend">{spans}</div>'


def ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Round numbers between low and high."""
    if not high > low:
        return [low]
    step = 10.0 ** math.floor(math.log10((high - low) / wanted))
    step *= next(factor for factor in (1, 2, 2.5, 5, 10) if (high - low) / (step * factor) <= wanted)
    first = math.ceil(low / step - 1e-9)
    return [round(index * step, 12) for index in range(first, math.floor(high / step + 1e-9) + 1)]


def words_of(value: float) -> str:
    """A number at an axis."""
    if value == 0:
        return "0"
    if abs(value) >= 10_000:
        return f"{value / 1000:g}k"
    return f"{value:.6g}" if abs(value) >= 0.001 else f"{value:.0e}"


def _known(lines: Sequence[Line]) -> list[float]:
    return [value for line in lines for part in (line.y, line.low, line.high) for value in part if value is not None]


def _lines(chart: Chart, lines: Sequence[Line]) -> str:
    values = _known(lines)
    if chart.logarithmic:
        values = [value for value in values if value > 0] or [1.0]
    low = min(values) if chart.bottom is None or chart.logarithmic else min(chart.bottom, *values)
    high = chart.top if chart.top is not None else max(values)
    if not high > low:
        high = low + (abs(low) or 1.0)
    xs = [float(value) for line in lines for value in line.x]
    first, last = min(xs), max(max(xs), min(xs) + 1e-9)

    def px(value: float) -> float:
        return LEFT + (value - first) / (last - first) * (WIDTH - LEFT - RIGHT)

    def py(value: float) -> float:
        if chart.logarithmic:
            share = (math.log(max(value, low)) - math.log(low)) / (math.log(high) - math.log(low))
        else:
            share = (value - low) / (high - low)
        return HEIGHT - BOTTOM - min(1.05, max(-0.05, share)) * (HEIGHT - TOP - BOTTOM)

    parts = [_shade(shade, px, first, last) for shade in chart.shades]
    for value in _log_ticks(low, high) if chart.logarithmic else ticks(low, high):
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{py(value):.1f}" y2="{py(value):.1f}"/>'
                     f'<text x="{LEFT - 7}" y="{py(value) + 4.5:.1f}" text-anchor="end">{words_of(value)}</text>')
    for value in ticks(first, last, 6):
        parts.append(f'<text x="{px(value):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">'
                     f"{words_of(value)}</text>")
    parts.append(_axis_words(chart.x, chart.y))
    for line in lines:
        if line.low and line.high:
            parts.append(_band(line, px, py))
    for line in lines:
        parts.append(_curve(line, px, py))
        if chart.dots:
            parts += [f'<circle class="c{line.colour}" cx="{px(x):.1f}" cy="{py(y):.1f}" r="3.5"/>'
                      for x, y in zip(line.x, line.y, strict=True) if y is not None]
    parts.append(f'<line class="cursor" x1="0" x2="0" y1="{TOP}" y2="{HEIGHT - BOTTOM}" visibility="hidden"/>')
    data = {
        "first": first, "last": last, "left": LEFT, "right": WIDTH - RIGHT, "x": chart.x,
        "lines": [{"name": line.name, "x": [float(x) for x in line.x],
                   "y": [None if y is None else float(f"{y:.4g}") for y in line.y]} for line in lines],
    }
    return _svg("".join(parts), chart.title) + _data(data)


def _log_ticks(low: float, high: float) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    marks = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
    return [mark for mark in marks if low * 0.999 <= mark <= high * 1.001]


def _svg(inside: str, title: str, height: float = HEIGHT) -> str:
    return (f'<svg viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{html.escape(title, quote=True)}">'
            f"{inside}</svg>")


def _data(values: object) -> str:
    # A "<" inside a script could end it; as an escape it cannot.
    text = json.dumps(values, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" class="data">{text}</script>'


def _axis_words(x: str, y: str) -> str:
    across, down = (LEFT + WIDTH - RIGHT) / 2, (TOP + HEIGHT - BOTTOM) / 2
    return (f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{HEIGHT - BOTTOM}" y2="{HEIGHT - BOTTOM}"/>'
            f'<text class="words" x="{across}" y="{HEIGHT - 7}" text-anchor="middle">{html.escape(x)}</text>'
            f'<text class="words" transform="translate(14 {down}) rotate(-90)" text-anchor="middle">'
            f"{html.escape(y)}</text>")


def _shade(shade: Shade, px: Scale, first: float, last: float) -> str:
    left, right = px(max(first, shade.first)), px(min(last, shade.last))
    if right <= left:
        return ""
    area = (f'<rect class="shade" x="{left:.1f}" y="{TOP}" width="{right - left:.1f}" '
            f'height="{HEIGHT - TOP - BOTTOM}"/>') if shade.filled else ""
    return (f'{area}<text class="words" x="{(left + right) / 2:.1f}" y="{TOP - 9}" text-anchor="middle">'
            f"{html.escape(shade.words)}</text>")


def _curve(line: Line, px: Scale, py: Scale) -> str:
    path, pen = "", "M"
    for x, y in zip(line.x, line.y, strict=True):
        if y is None:
            pen = "M"
            continue
        path += f"{pen}{px(x):.1f} {py(y):.1f}"
        pen = "L"
    return f'<path class="line c{line.colour}{" dashed" if line.dashed else ""}" d="{path}"/>'


def _band(line: Line, px: Scale, py: Scale) -> str:
    """The area between low and high, interrupted where there is nothing."""
    pieces: list[list[tuple[float, float, float]]] = [[]]
    for x, low, high in zip(line.x, line.low, line.high, strict=True):
        if low is None or high is None:
            pieces.append([])
        else:
            pieces[-1].append((x, low, high))
    areas = []
    for piece in pieces:
        if len(piece) > 1:
            upper = "L".join(f"{px(x):.1f} {py(high):.1f}" for x, _, high in piece)
            lower = "L".join(f"{px(x):.1f} {py(low):.1f}" for x, low, _ in reversed(piece))
            areas.append(f"M{upper}L{lower}Z")
    return f'<path class="band c{line.colour}" d="{"".join(areas)}"/>' if areas else ""


def _bars(chart: Bars) -> str:
    left, row = 132, 27
    height = TOP + row * len(chart.bars) + 30

    def px(value: float) -> float:
        return left + min(1.0, max(0.0, value / chart.top)) * (WIDTH - left - 20)

    parts = [f'<text x="{px(value):.1f}" y="{height - 8}" text-anchor="middle">{words_of(value)}'
             f"{'' if value else ' ' + html.escape(chart.unit)}</text>"
             f'<line class="grid" x1="{px(value):.1f}" x2="{px(value):.1f}" y1="{TOP}" y2="{height - 24}"/>'
             for value in ticks(0, chart.top)]
    for index, bar in enumerate(chart.bars):
        middle = TOP + row * index + row / 2
        parts.append(f'<text x="{left - 8}" y="{middle + 4.5:.1f}" text-anchor="end">{html.escape(bar.name)}</text>')
        if bar.value is None:
            continue
        parts.append(f'<rect class="bar c{bar.colour}" x="{left}" y="{middle - 8:.1f}" height="16" rx="2" '
                     f'width="{px(bar.value) - left:.1f}">'
                     f"<title>{html.escape(bar.name)}: {bar.value:.1f}</title></rect>")
        if bar.low is not None and bar.high is not None:
            parts.append(f'<path class="whisker" d="M{px(bar.low):.1f} {middle:.1f}H{px(bar.high):.1f}'
                         f'M{px(bar.low):.1f} {middle - 4:.1f}v8M{px(bar.high):.1f} {middle - 4:.1f}v8"/>')
    if chart.chance is not None:
        parts.append(f'<line class="chance" x1="{px(chart.chance):.1f}" x2="{px(chart.chance):.1f}" y1="{TOP - 4}" '
                     f'y2="{height - 24}"/>')
    return _svg("".join(parts), chart.title, height)


def _cloud(chart: Cloud) -> str:
    values = [value for _, column, _ in chart.columns for value in column]
    if not values:
        return '<p class="nothing">Nothing was measured for this figure.</p>'
    high = max(values) or 1.0
    floor = HEIGHT - BOTTOM

    def py(value: float) -> float:
        return floor - value / high * (floor - TOP)

    parts = [f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{py(value):.1f}" y2="{py(value):.1f}"/>'
             f'<text x="{LEFT - 7}" y="{py(value) + 4.5:.1f}" text-anchor="end">{words_of(value)}</text>'
             for value in ticks(0, high)]
    parts.append(_axis_words("", chart.y))
    pitch = (WIDTH - LEFT - RIGHT) / len(chart.columns)
    for index, (name, column, colour) in enumerate(chart.columns):
        centre = LEFT + pitch * (index + 0.5)
        for number, value in enumerate(column):
            # Spread out evenly, always in the same way, so that equal values can be told apart.
            offset = ((number * 0.6180339887) % 1 - 0.5) * pitch * 0.5
            parts.append(f'<circle class="c{colour} soft" cx="{centre + offset:.1f}" cy="{py(value):.1f}" r="4"/>')
        if column:
            mean, reach = py(sum(column) / len(column)), 0.3 * pitch
            parts.append(f'<line class="mean" x1="{centre - reach:.1f}" x2="{centre + reach:.1f}" y1="{mean:.1f}" '
                         f'y2="{mean:.1f}"/>')
        for number, words in enumerate((*name.splitlines(), f"n = {len(column)}")):
            parts.append(f'<text x="{centre:.1f}" y="{floor + 18 * (number + 1)}" text-anchor="middle">'
                         f"{html.escape(words)}</text>")
    return _svg("".join(parts), chart.title, HEIGHT + 18)
