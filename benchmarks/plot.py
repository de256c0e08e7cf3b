"""
Time and memory against size, as a picture: `python -m benchmarks plot RESULT… -o FILE.svg`.

Both axes of each panel are logarithmic, so what grows with the fleet is a straight line of the steepness of the dashed one. It is written by hand, a few
lines and labels, in colours that can be told apart on light and dark ground; nothing in it is a script.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

from benchmarks.results import Measured, NoResult, Point, read
from benchmarks.rows import ROWS

WIDTH, HEIGHT = 430, 300
LEFT, BOTTOM, TOP, RIGHT = 62, 44, 30, 34
COLOURS = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a6d00", "#888888", "#8c6bb1", "#e31a1c",
)  # fmt: skip
"""One for each row."""

Line = tuple[str, list[tuple[float, float]]]
"""What it is called, and its points: gangs, and how much."""


def lines(points: Sequence[Point], of: Callable[[Measured], float]) -> list[Line]:
    """One for each row that was measured at two sizes at least."""
    found: list[Line] = []
    for row, (title, _) in ROWS.items():
        there = [(float(point.size.gangs), of(point.rows[row])) for point in points if row in point.rows]
        if len(there) > 1:
            found.append((title.partition(":")[0], sorted(there)))
    return found


def drawing(points: Sequence[Point]) -> str:
    """The picture. Raises NoResult where no row was measured at two sizes."""
    times = lines(points, lambda found: statistics.median(found.seconds))
    memory = lines(points, lambda found: max(found.mib))
    if not times:
        raise NoResult(
            "no row was measured at two sizes: run the benchmark with --size medium --size large --json FILE"
        )
    legend = "".join(
        f'<g transform="translate({LEFT + index % 2 * WIDTH} {HEIGHT + 20 + index // 2 * 18})">'
        f'<path d="M0 -4h18" stroke="{COLOURS[index]}" stroke-width="2.5"/><text x="24">{escape(name)}</text></g>'
        for index, (name, _) in enumerate(times)
    )
    height = HEIGHT + 24 + (len(times) + 1) // 2 * 18
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * WIDTH} {height}" role="img" font-family="sans-serif" font-size="12">\n'
        "<title>Time and memory against the number of gangs</title>\n"
        "<style>text{fill:#555}.axis{stroke:#999;fill:none}.grid{stroke:#9995;fill:none}"
        "@media (prefers-color-scheme:dark){text{fill:#bbb}}</style>\n"
        f'{_panel(times, "seconds")}\n<g transform="translate({WIDTH} 0)">{_panel(memory, "MiB")}</g>\n{legend}\n</svg>\n'
    )


def _panel(series: Sequence[Line], unit: str) -> str:
    sizes = [x for _, there in series for x, _ in there]
    amounts = [y for _, there in series for _, y in there if y > 0]
    x, y = _scale(sizes, LEFT, WIDTH - RIGHT), _scale(amounts, HEIGHT - BOTTOM, TOP)
    parts = [f'<text x="{LEFT}" y="18" font-weight="bold">{unit}</text>']
    for power in _powers(amounts):
        parts.append(f'<path class="grid" d="M{LEFT} {y(power):.1f}H{WIDTH - RIGHT}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y(power) + 4:.1f}" text-anchor="end">{power:,g}</text>')
    for size in sorted(set(sizes)):
        parts.append(f'<text x="{x(size):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{size:,.0f}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">gangs</text>')
    parts.append(f'<path class="axis" d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}"/>')
    _, first = max(series, key=lambda line: line[1][-1][1])
    start = first[0]
    end = min(first[-1][0], start[0] * _powers(amounts)[-1] / start[1])  # and not above the drawing
    straight = [start, (end, start[1] * end / start[0])]
    parts.append(f'<path d="{_path(straight, x, y)}" class="axis" stroke-dasharray="4 4"><title>linear</title></path>')
    for colour, (name, there) in zip(COLOURS[: len(series)], series, strict=True):
        shown = [(size, amount) for size, amount in there if amount > 0]
        parts.append(
            f'<path d="{_path(shown, x, y)}" fill="none" stroke="{colour}" stroke-width="2"><title>{escape(name)}</title></path>'
        )
        parts += [
            f'<circle cx="{x(size):.1f}" cy="{y(amount):.1f}" r="3" fill="{colour}"><title>{escape(name)}: {_shown(amount)} {unit}</title></circle>'
            for size, amount in shown
        ]
    return "".join(parts)


def _shown(amount: float) -> str:
    """Three digits, or all before the point."""
    return f"{amount:,.0f}" if amount >= 1000 else f"{amount:.3g}"


def _path(there: Sequence[tuple[float, float]], x: Callable[[float], float], y: Callable[[float], float]) -> str:
    return "M" + "L".join(f"{x(size):.1f} {y(amount):.1f}" for size, amount in there)


def _powers(amounts: Sequence[float]) -> list[float]:
    return [
        10.0**power for power in range(math.floor(math.log10(min(amounts))), math.ceil(math.log10(max(amounts))) + 1)
    ]


def _scale(numbers: Sequence[float], start: float, end: float) -> Callable[[float], float]:
    """From whole power of ten to whole power of ten, logarithmic."""
    powers = _powers(numbers)
    least, most = math.log10(powers[0]), math.log10(powers[-1])
    span = most - least or 1
    return lambda number: start + (math.log10(number) - least) / span * (end - start)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser("python -m benchmarks plot", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument(
        "results", type=Path, nargs="+", help="files that --json wrote; where a size is in several, the last counts"
    )
    parser.add_argument("-o", "--output", type=Path, required=True)
    chosen = parser.parse_args(arguments)
    try:
        points = {point.size: point for file in chosen.results for point in read(file)}
        text = drawing(sorted(points.values(), key=lambda point: point.size.gangs))
    except NoResult as error:
        parser.error(str(error))
    chosen.output.write_text(text)
