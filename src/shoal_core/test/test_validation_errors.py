"""One mistake, one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.errors import ShoalError
from shoal.fleet.file import load_fleet


def complaint(folder: Path, vehicles: str) -> str:
    file = folder / "fleet.yaml"
    file.write_text(f"version: 1\nname: x\nvehicles: {vehicles}\n", encoding="utf-8")
    with pytest.raises(ShoalError) as error:
        load_fleet(file)
    return str(error.value)


def test_a_wrong_only_entry_is_told_once(tmp_path: Path) -> None:
    sentence = complaint(tmp_path, "[{name: a, start_m: [0, 0, 5], thrust_limit_N: -3}]")
    assert sentence.count("\n") == 0 and "vehicles.0.thrust_limit_N = -3" in sentence


def test_an_empty_list_is_still_too_short(tmp_path: Path) -> None:
    assert "expected at least 1" in complaint(tmp_path, "[]")
