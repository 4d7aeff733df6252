"""The commands of README and tutorials: `make tutorials` runs them all; here what they name, and a few of them."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]


def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tutorials", ROOT / "tools" / "tutorials.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["tutorials"] = module  # for its dataclasses
    spec.loader.exec_module(module)
    return module


TOOL = tool()
COMMANDS = [command for page in TOOL.PAGES for command in TOOL.commands(page)]


def test_every_tutorial_has_commands_and_every_file_they_name_is_there() -> None:
    sections = {command.section for command in COMMANDS if command.page == "docs/tutorials.md"}
    wanted = (
        "vehicle",
        "controller",
        "path",
        "task, metric and condition",
        "campaign",
        "Docking",
        "platform",
        "rosbag",
    )
    assert all(any(word in section for section in sections) for word in wanted), sections
    for command in COMMANDS:
        names = re.findall(r"[\w/]+\.(?:yaml|py|csv)\b|\b(my_\w+):\w+", command.line)
        files = [*re.findall(r"[\w/]+\.(?:yaml|py|csv)\b", command.line), *(f"{name}.py" for name in names if name)]
        for file in files:
            assert (ROOT / command.folder / file).is_file(), command.line


def test_times_are_of_the_commands_that_are_there() -> None:
    text = (ROOT / "docs/tutorials.md").read_text(encoding="utf-8").partition("## How long it takes")[2]
    timed = re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)
    assert timed == [command.line for command in COMMANDS if command.page == "docs/tutorials.md"]


@pytest.mark.parametrize(
    "start", ["shoal check my_vehicle.yaml", "shoal platform plan row3", "shoal check my_path.yaml"]
)
def test_short_ones_run(start: str) -> None:
    (command,) = [c for c in COMMANDS if c.line == start]
    bin_ = Path(sys.executable).parent
    code, _, _, said = TOOL.run(command, ROOT, os.environ | {"PATH": f"{bin_}:{os.environ['PATH']}"})
    assert code == 0, said


def test_a_failing_command_is_noticed_and_an_endless_one_gets_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    assert TOOL.run(TOOL.Command("README.md", "", "false"), ROOT, dict(os.environ))[0] == 1
    monkeypatch.setattr(TOOL, "ENDLESS_S", 0.5)
    monkeypatch.setattr(TOOL.Command, "endless", True)
    code, *_ = TOOL.run(TOOL.Command("README.md", "", "sleep 60"), ROOT, dict(os.environ))
    assert code == -2
