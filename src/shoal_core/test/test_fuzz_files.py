"""Files of every kind with random mistakes: `shoal check` answers with a sentence, never with a traceback.

A few cases of each kind in the suite; `make fuzz` for a long look (10 000 of each).
"""

from __future__ import annotations

import copy
import os
import warnings
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shoal.commands.check import KINDS, check_file
from shoal.config.files import config_roots, read_yaml
from shoal.errors import ShoalError

CASES = int(os.environ.get("SHOAL_FUZZ_CASES", "20"))
CONFIG = next(iter(config_roots()))
FILES = {kind: sorted((CONFIG / kind).glob("*.yaml")) for kind in KINDS}

NUMBERS = st.sampled_from([0, -1, 1, 2, 1e9, -1e9, 1e-300, 1e300, 10**30, float("nan"), float("inf"), 0.5, 1e-9])
WORDS = st.sampled_from(["circle", "two", "nmpc", "default", "replace", "a.b:C", "../x", "/proc/x"])
SCALARS = st.one_of(NUMBERS, st.floats(-100, 100), st.none(), st.booleans(), st.text(max_size=8), WORDS)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


def places(data: Any, key: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    entries = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [place for name, value in entries for place in ((*key, name), *places(value, (*key, name)))]


@st.composite
def spoilt(draw: st.DrawFn, kind: str) -> str:
    """A shipped file with one to three places changed, removed or added to; now and then no YAML at all."""
    if draw(st.integers(0, 30)) == 0:
        return draw(st.text(max_size=60))
    data = copy.deepcopy(read_yaml(draw(st.sampled_from(FILES[kind]))))
    for _ in range(draw(st.integers(1, 3))):
        found = places(data)
        if not found:
            break
        *parents, last = draw(st.sampled_from(found))
        inner = data
        for parent in parents:
            inner = inner[parent]
        action = draw(st.integers(0, 9))
        if action == 0:
            del inner[last]
        elif action == 1 and isinstance(inner, dict):
            inner[draw(st.text(min_size=1, max_size=8))] = draw(VALUES)
        else:
            inner[last] = draw(VALUES)
    if "runs" in data and isinstance(data["runs"], int) and data["runs"] > 3:
        data["runs"] = 3  # thousands of jobs are no mistake, only slow
    return yaml.safe_dump(data)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if FILES[kind]])
def test_a_spoilt_file_gets_a_sentence(kind: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp(kind) / kind / "mine.yaml"
    file.parent.mkdir()

    @settings(
        max_examples=CASES, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(spoilt(kind))
    def answered(text: str) -> None:
        file.write_text(text, encoding="utf-8", errors="surrogatepass")
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)  # not-a-number on the way
            try:
                check_file(Path(file))
            except ShoalError as error:
                assert "mine.yaml" in str(error) and len(str(error)) < 4000

    answered()
