"""The table of assemblies: seeds that are done are read again, not run again; a foreign file is refused."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from shoal.benchmarks import assemblies
from shoal.benchmarks.assemblies import Assembled, campaign
from shoal.errors import ShoalError
from shoal.tasks.run import RunSpec

SPEC = {"fleet": "vessels3", "task": "assemble"}


def test_a_table_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[int] = []

    def run(spec: RunSpec) -> Assembled:
        ran.append(spec.seed)
        late = math.nan if spec.seed == 2 else 30.0 + spec.seed
        return Assembled(spec.seed, late, math.nan, 0.012, "19.3 s: a (member), b", 0, 1, 0, math.nan, 3, 0, late, 0.1)

    monkeypatch.setattr(assemblies, "assembled", run)
    table = tmp_path / "found.csv"
    first = list(campaign(SPEC, [1, 2], table))
    again = list(campaign(SPEC, range(1, 4), table))
    assert ran == [1, 2, 3] and [one.seed for one in again] == [1, 2, 3]
    assert again[0] == first[0] or math.isnan(again[0].reshaped_s)
    assert again[0].contact == "19.3 s: a (member), b" and again[0].complete and not again[1].complete
    assert [one.seed for one in campaign(SPEC, [3], None)] == [3] and ran[-1] == 3 and len(ran) == 4


@pytest.mark.parametrize(("text", "why"), [("a,b\n1,2\n", "columns are"), ("", "columns are")])
def test_another_file_is_refused(tmp_path: Path, text: str, why: str) -> None:
    table = tmp_path / "other.csv"
    table.write_text(text, encoding="utf-8")
    with pytest.raises(ShoalError, match=why):
        list(campaign(SPEC, [1], table))


def test_a_torn_row_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "torn.csv"
    table.write_text(",".join(Assembled.__dataclass_fields__) + "\n1,2.0,oops\n", encoding="utf-8")
    with pytest.raises(ShoalError, match="a row cannot be read"):
        list(campaign(SPEC, [1], table))
