"""Files of every kind, and orders on topics, with random mistakes: answered by a sentence, never by a traceback.

A few cases of each kind in the suite; `make fuzz` for a long look (10 000 of each).
"""

from __future__ import annotations

import copy
import json
import os
import re
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shoal.autopilot.dive import load_dive
from shoal.commands.check import KINDS, check_file
from shoal.config.files import config_roots, read_yaml
from shoal.errors import ShoalError
from shoal.fleet.stop import StopState
from shoal.identification.csv_log import read_csv_log
from shoal.messages.pilot import pilot_from_json
from shoal.platform.orders import ordered_blueprint
from shoal.recordings.assembly_json import (
    group_command_from_json,
    joining_from_json,
    knowledge_from_json,
    ownership_from_json,
)
from shoal.recordings.docking_json import order_from_json, status_from_json
from shoal.recordings.placement_json import formation_from_json
from shoal.recordings.task_json import order_from_json as task_order_from_json
from shoal.tasks.run import read_task_settings
from shoal.vehicles.description import load_vehicle

CASES = int(os.environ.get("SHOAL_FUZZ_CASES", "20"))
CONFIG = next(iter(config_roots()))
FILES = {kind: sorted((CONFIG / kind).glob("*.yaml")) for kind in KINDS}
_Dumper: type[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # most of the time goes into writing

NUMBERS = st.sampled_from([0, -1, 1, 2, 1e9, -1e9, 1e-300, 1e300, 10**30, float("nan"), float("inf"), 0.5, 1e-9])
WORDS = st.sampled_from(["circle", "two", "nmpc", "default", "replace", "a.b:C", "../x", "/proc/x"])
SCALARS = st.one_of(NUMBERS, st.floats(-100, 100), st.none(), st.booleans(), st.text(max_size=8), WORDS)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
# What YAML makes of text that nobody dumped.
SNIPPETS = (
    "2020-13-45",
    "0000-01-01",
    "2001-12-14 21:59:43 +99:99",
    "1:30",
    "0o17",
    "0x",
    "1_000",
    "9" * 5000,
    "~",
    "=",
    "<<: 3",
    "? [1]",
    "{[1]: 2}",
    "{1: 2}",
    "{~: 2}",
    "!!int x",
    "!!int ''",
    "!!float x",
    "!!bool x",
    "!!binary ä",
    "!!set {a, b}",
    "!!omap [a: 1]",
    "!foo 3",
    "!!python/object:os.system x",
    "&a [*a]",
    "*a",
    "---",
    "...",
    "%YAML 9.9",
    "\t",
    "\x00",
    "\ufeff",
    "[" * 60 + "]" * 60,
    "- ",
    ": ",
    "#",
    "'",
    '"',
    "|",
    ">",
    "{",
    "[",
    "- 1",
    "a: b",
)


@cache
def shipped(file: Path) -> tuple[Any, str, list[tuple[Any, ...]]]:
    data = read_yaml(file)
    return data, file.read_text(encoding="utf-8"), places(data)


def places(data: Any, key: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    entries = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [place for name, value in entries for place in ((*key, name), *places(value, (*key, name)))]


def at(data: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        data = data[key]
    return data


def spoil(draw: st.DrawFn, data: Any) -> None:
    """One to three places changed, removed, added to, or filled with what stands elsewhere."""
    for _ in range(draw(st.integers(1, 3))):
        found = places(data)
        if not found:
            break
        place = draw(st.sampled_from(found))
        inner, last = at(data, place[:-1]), place[-1]
        action = draw(st.integers(0, 10))
        if action == 0:
            del inner[last]
        elif action == 1 and isinstance(inner, dict):
            inner[draw(st.text(min_size=1, max_size=8))] = draw(VALUES)
        elif action in (2, 3):
            inner[last] = copy.deepcopy(at(data, draw(st.sampled_from(found))))
        elif action == 4 and isinstance(inner, list):
            inner.insert(last, copy.deepcopy(inner[last]))
        else:
            inner[last] = draw(VALUES)


def scribbled(draw: st.DrawFn, text: str) -> str:
    """Text with lines removed, repeated, moved in or out, or written over."""
    lines = text.splitlines() or [""]
    for _ in range(draw(st.integers(1, 3))):
        row = draw(st.integers(0, len(lines) - 1))
        action = draw(st.integers(0, 5))
        snippet = draw(st.sampled_from(SNIPPETS))
        if action == 0 and len(lines) > 1:
            del lines[row]
        elif action == 1:
            lines.insert(row, lines[draw(st.integers(0, len(lines) - 1))])
        elif action == 2:
            lines[row] = " " * draw(st.integers(0, 5)) + lines[row].lstrip()
        elif action == 3:
            lines[row] = lines[row].partition(":")[0] + ": " + snippet
        else:
            column = draw(st.integers(0, len(lines[row])))
            lines[row] = lines[row][:column] + snippet + lines[row][column + draw(st.integers(0, 4)) :]
    return "\n".join(lines)


def few(text: str) -> str:
    """Thousands of jobs are no mistake, only slow."""
    return re.sub(r"\bruns: [1-9][0-9]*\b", "runs: 2", text)


@st.composite
def spoilt(draw: st.DrawFn, kind: str) -> str:
    """A shipped file with some mistakes in its values or in its text; now and then nothing of it."""
    how = draw(st.integers(0, 30))
    if how == 0:
        return draw(st.text(max_size=60))
    data, text, _ = shipped(draw(st.sampled_from(FILES[kind])))
    if how < 8:
        return few(scribbled(draw, text))
    data = copy.deepcopy(data)
    spoil(draw, data)
    return few(str(yaml.dump(data, Dumper=_Dumper)))


ORDERS: dict[str, tuple[Callable[[str], object], list[Any]]] = {
    "platform": (
        ordered_blueprint,
        [
            {"version": 1, "name": "mine", "rows": ["##", "#."]},
            {"version": 1, "name": "mine", "rows": ["ab"], "types": {"a": "delfia1", "b": "delfia1_cargo"}},
            {"version": 1, "name": "mine", "poses": [{"x_m": 0, "y_m": 0}, {"x_m": 0, "y_m": 0.2}]},
        ],
    ),
    "docking": (
        order_from_json,
        [
            {
                "counter": 1,
                "action": "dock",
                "leader": "rov1",
                "leader_port": "stern",
                "follower": "rov2",
                "follower_port": "bow",
                "blind": False,
                "watch_port": "bow",
                "watch_m": [1, 2, -3],
            },
            {"counter": 2, "action": "cancel", "leader": "", "leader_port": "", "follower": "", "follower_port": ""},
        ],
    ),
    "docking status": (
        lambda text: status_from_json(text, "/rov1/docking"),
        [
            {
                "counter": 1,
                "phase": "approach",
                "gap_m": 1.0,
                "lateral_m": 0.1,
                "angle_deg": 2.0,
                "bearing_deg": 3.0,
                "tries": 0,
                "reason": "",
                "refused": "",
            },
        ],
    ),
    "task": (
        task_order_from_json,
        [
            {"action": "start", "task": "dock", "settings": {"leader_mps": 0.1, "undock": True}},
            {"action": "cancel"},
        ],
    ),
    "task settings": (lambda text: read_task_settings(text, "task_settings"), [{"a": 1, "b": [1, 2]}]),
    "assembly": (
        joining_from_json,
        [
            {
                "counter": 3,
                "joints": [
                    {
                        "a": "rov1",
                        "b": "rov2",
                        "at_a_m": [1, 0, 0],
                        "at_b_m": [-1, 0, 0],
                        "attitude": {"w": 1, "x": 0, "y": 0, "z": 0},
                    }
                ],
                "partners": [["rov1", "rov2"]],
                "magnets": [["rov1", "rov3"]],
            },
        ],
    ),
    "group thrust": (
        group_command_from_json,
        [
            {"pilot": "rov1", "assembly": 1, "term": 2, "stamp_s": 3.0, "thrust_N": [1.0, 2.0]},
        ],
    ),
    "owner": (ownership_from_json, [{"owner": "rov1", "assembly": 1, "term": 2}]),
    "estimate": (
        knowledge_from_json,
        [
            {
                "stamp_s": 1.0,
                "state_ned_frd": [0.0] * 3 + [1.0] + [0.0] * 9,
                "wrench_frd": [0.0] * 6,
                "current_ned_mps": [0.0] * 3,
                "thrust_N": [0.0] * 8,
                "lag_s": 0.1,
                "delay_s": 0.05,
                "certainty": 0.5,
            },
        ],
    ),
    "formation": (
        formation_from_json,
        [
            {
                "offsets": {"rov1": [1, 0, 0], "rov2": [-1, 0, 0]},
                "radius_m": 0.0,
                "headings_rad": {"rov1": 0.0, "rov2": 3.1},
                "yaw_rad": 0.0,
                "order": ["rov1", "rov2"],
                "sight": [["rov1", "rov2"]],
            },
            {
                "offsets": {"rov1": [1, 0, 0], "rov2": [-1, 0, 0]},
                "headings_rad": None,
                "sight": [],
                "radius_m": [[0, 2.0], [10, 3.0]],
                "yaw_rad": 0.0,
                "order": ["rov1", "rov2"],
            },
        ],
    ),
    "pilot": (
        lambda text: pilot_from_json(text, 1.0),
        [
            {
                "sticks": {"surge": 0.5},
                "setpoints": {"depth_m": 5},
                "rates": {"yaw_dps": 3},
                "preset": "",
                "levels": {"yaw": "guided"},
            },
        ],
    ),
    "stop": (StopState.from_json, [{"counter": 1, "stopped": True, "owner": "station"}]),
}
JSON_SNIPPETS = (
    "NaN",
    "Infinity",
    "-Infinity",
    "1e999",
    "9" * 5000,
    "[" * 30000,
    '{"a":' * 30000,
    '"\\ud800"',
    "\x00",
    "{}",
    "'",
)


@st.composite
def spoilt_order(draw: st.DrawFn, kind: str) -> str:
    """The same of an order as JSON."""
    how = draw(st.integers(0, 30))
    data = copy.deepcopy(draw(st.sampled_from(ORDERS[kind][1])))
    if how == 0:
        return draw(st.text(max_size=60))
    if how > 5:
        spoil(draw, data)
        return json.dumps(data)
    text = json.dumps(data)
    column = draw(st.integers(0, len(text)))
    return text[:column] + draw(st.sampled_from(JSON_SNIPPETS)) + text[column + draw(st.integers(0, 4)) :]


CSV_CELLS = (
    "",
    "x",
    "nan",
    "inf",
    "-1",
    "1e999",
    "1e300",
    "1" * 5000,
    '"',
    '"a\nb"',
    "\x00",
    "é",
    "1,2",
    "#",
    " 3 ",
    "2020-01-01",
)


@st.composite
def spoilt_table(draw: st.DrawFn, text: str) -> bytes:
    """A table with cells written over, lines removed or repeated, and sometimes bytes that are no text."""
    rows = [line.split(",") for line in text.splitlines()]
    for _ in range(draw(st.integers(1, 3))):
        row = draw(st.integers(0, max(0, min(len(rows), 6) - 1)))
        action = draw(st.integers(0, 4))
        if not rows:
            break
        if action == 0:
            del rows[row :: draw(st.sampled_from([1, len(rows)]))]
        elif action == 1:
            rows.insert(row, list(rows[draw(st.integers(0, len(rows) - 1))]))
        elif rows[row]:
            rows[row][draw(st.integers(0, len(rows[row]) - 1))] = draw(st.sampled_from(CSV_CELLS))
    content = "\n".join(",".join(row) for row in rows).encode()
    return b"\xff\xfe" + content if draw(st.integers(0, 20)) == 0 else content


def answered(ask: Callable[[], object], named: str) -> None:
    """With a sentence that names what is wrong, or without complaint."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # not-a-number on the way
        try:
            ask()
        except ShoalError as error:
            assert named in str(error) and len(str(error)) < 4000


def fuzzed(strategy: st.SearchStrategy[Any], one: Callable[[Any], None]) -> None:
    """The same cases each time."""

    @settings(
        max_examples=CASES, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(strategy)
    def each(spoilt_one: Any) -> None:
        one(spoilt_one)

    each()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if FILES[kind]])
def test_a_spoilt_file_gets_a_sentence(kind: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp(kind) / kind / "mine.yaml"
    file.parent.mkdir()

    def one(text: str) -> None:
        file.write_text(text, encoding="utf-8", errors="surrogatepass")
        answered(lambda: check_file(file), "mine.yaml")

    fuzzed(spoilt(kind), one)


@pytest.mark.parametrize("kind", ORDERS)
def test_a_spoilt_order_gets_a_sentence(kind: str) -> None:
    fuzzed(spoilt_order(kind), lambda text: answered(lambda: ORDERS[kind][0](text), ""))


@pytest.mark.parametrize("kind", ORDERS)
def test_the_unspoilt_orders_are_read(kind: str) -> None:
    """Or the test above would prove nothing."""
    reads, shown = ORDERS[kind]
    for order in shown:
        reads(json.dumps(order))


def test_a_spoilt_dive_gets_a_sentence(tmp_path: Path) -> None:
    lines = (CONFIG / "dives/pilot.csv").read_text(encoding="utf-8").splitlines()
    file = tmp_path / "mine.csv"

    def one(content: bytes) -> None:
        file.write_bytes(content)
        answered(lambda: load_dive(file), "mine.csv")

    fuzzed(spoilt_table("\n".join(line for line in lines if not line.startswith("#"))), one)


COLUMNS = """version: 1
time: t
position_m: [x, y, z]
velocity_mps: [u, v, w]
rate_dps: [p, q, r]
attitude: {euler_deg: [roll, pitch, yaw]}
world: NED
body: FRD
commands: {thrust_N: [f1, f2, f3, f4, f5, f6, f7, f8]}
"""


def test_a_spoilt_log_or_column_map_gets_a_sentence(tmp_path: Path) -> None:
    names = [*"txyzuvwpqr", "roll", "pitch", "yaw", *(f"f{k}" for k in range(1, 9))]
    rows = [[0.1 * k, *np.sin(0.1 * k + np.arange(20)).tolist()] for k in range(40)]
    good = "\n".join([",".join(names), *(",".join(f"{value:.3f}" for value in row) for row in rows)])
    vehicle = load_vehicle("bluerov2_heavy")
    log, columns = tmp_path / "mine.csv", tmp_path / "mine.yaml"
    log.write_text(good, encoding="utf-8")
    columns.write_text(COLUMNS, encoding="utf-8")
    assert read_csv_log(log, columns, vehicle)

    @st.composite
    def either(draw: st.DrawFn) -> tuple[bytes, str]:
        if draw(st.booleans()):
            return draw(spoilt_table(good)), COLUMNS
        data = yaml.safe_load(COLUMNS)
        spoil(draw, data)
        return good.encode(), str(yaml.dump(data, Dumper=_Dumper))

    def one(pair: tuple[bytes, str]) -> None:
        log.write_bytes(pair[0])
        columns.write_text(pair[1], encoding="utf-8", errors="surrogatepass")
        answered(lambda: read_csv_log(log, columns, vehicle), "mine.")

    fuzzed(either(), one)
