"""What `shoal up` and `shoal gui` answer with a sentence before a process starts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from shoal.cli import app

REFUSED = {
    "a record in /proc": (["up", "--record", "/proc/x"], "--record /proc/x: cannot be written .*; expected a place"),
    "a record that is a file": (["up", "--record", "a_file"], "--record a_file: is a file; expected a folder"),
    "a misspelt task": (["up", "--task", "recovr"], "task = 'recovr': unknown; did you mean 'recover'"),
    "a misspelt path": (["up", "--path", "circel"], "'circel' is unknown; did you mean 'circle'"),
    "a misspelt condition": (["up", "--condition", "defualt"], "'defualt' is unknown; did you mean 'default'"),
    "a misspelt controller": (["up", "--controller", "nmcp"], "'nmcp' is unknown; did you mean 'nmpc'"),
    "an unknown plant": (["up", "--plant", "sea"], "plant = 'sea'; expected builtin or none"),
    "no vehicles": (["up", "0"], "fleet = 0; expected 1 to 64 vehicles"),
    "a run without end": (["up", "--for", "inf"], "'--for'"),
    "a wait without end": (["up", "--ready", "inf"], "'--ready'"),
    "no key store": (["up", "--keystore", "/nope"], "/nope: no folder 'enclaves' inside; expected a key store"),
    "pictures in /proc": (["gui", "--screenshots", "/proc/x"], "--screenshots /proc/x: cannot be written"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_sentence_and_code_2(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def started(*_: object) -> None:
        raise AssertionError("it started")

    monkeypatch.setattr("shoal_ros.up.run_fleet", started)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a_file").write_text("")
    arguments, words = REFUSED[name]
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "2000"})
    assert result.exit_code == 2, (result.output, result.exception)
    assert re.search(words, result.stderr), result.stderr
