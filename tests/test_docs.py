"""The pages show what is really printed, name commands and options that exist, and link to what is there."""

from __future__ import annotations

import importlib.util
import re
import shlex
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from rich.console import Console

from shoal.cli import app
from shoal.evaluation.metrics import summarise
from shoal.reports.verdict import verdict_table
from synthetic_runs import make_record

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("docs/tutorials/*.md")])

COMMAND = typer.main.get_command(app)


def shape(line: str) -> str:
    """What of a line stays the same from run to run: no numbers, no vehicle names, no column widths."""
    line = re.sub(r"\([a-z]\w* (->|-) [a-z]\w*\)|\([a-z]\w*\d\)", "(who)", line)
    return re.sub(r"\s+", " ", re.sub(r"[+-]?\d+(\.\d+)?", "#", line)).strip()


def printed(duration_s: float) -> set[str]:
    console = Console(width=140, record=True, file=open("/dev/null", "w", encoding="utf-8"))  # noqa: SIM115
    record = make_record(duration_s=duration_s, noise_m=0.001, about={"fleet": "fosso2023_two"})
    console.print(verdict_table(summarise(record)))
    return {shape(line) for line in console.export_text().splitlines()}


def test_readme_shows_the_verdict_as_it_is_printed() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = text.partition("<!-- printed by: shoal bag report -->\n```\n")[2].partition("\n```")[0]
    assert len(block.splitlines()) >= 8
    missing = [line for line in block.splitlines() if shape(line) not in printed(52.0)]
    assert not missing, missing


def test_a_shortened_run_is_not_compared_with_published_whole_ones() -> None:
    whole = printed(200.0)
    assert any("Fosso et al. #, same condition" in line for line in whole)
    assert any("# / # / # % of runs lost sight" in line for line in whole)
    short = printed(60.0)
    assert not any("same condition" in line for line in short)
    assert shape("60 s of a test of 200 s: not compared with Fosso et al. 2023, which ran all of it") in short


def commands(page: Path) -> list[str]:
    """Lines of blocks that start with `shoal `, and `shoal …` in running text where it stands alone in backticks."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    blocks = re.findall(r"^(?: {4,}|\$ )?((?:\.venv/bin/)?shoal [a-z].*)$", text, re.MULTILINE)
    parts = [part for line in blocks for part in line.split(" && ")]
    return [re.sub(r"\s+#.*| *;  .*", "", part) for part in (*parts, *re.findall(r"`(shoal [a-z][^`\n]*)`", text))]


def wrong(line: str) -> str:
    """What is wrong with a command line, without running it: an unknown command or option."""
    command: Any = COMMAND
    words = shlex.split(line.replace("'", "’"), comments=True)[1:]
    while hasattr(command, "commands"):
        if not words or not re.fullmatch(r"[a-z][a-z-]*", words[0]):
            return ""  # `shoal campaign …`, `shoal bag report | repair`
        name = words.pop(0)
        found = command.commands.get(name)
        if found is None:
            return f"no command '{name}'"
        command = found
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    known |= {"--help", "-h"}
    given = [word.partition("=")[0].rstrip(",;:") for word in words if re.match(r"--?[a-z]", word)]
    return ", ".join(f"no option '{option}'" for option in given if option not in known)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_on_the_pages_exist(page: Path) -> None:
    faults = {line: fault for line in commands(page) if (fault := wrong(line))}
    assert not faults


def test_the_check_of_commands_finds_faults() -> None:
    assert sum(len(commands(page)) for page in PAGES) > 60
    assert wrong("shoal simulat") and wrong("shoal simulate --pth x") and wrong("shoal bag reprt x")
    assert not wrong("shoal campaign run x --runs 5") and not wrong("shoal simulate -p circle")


def test_the_check_of_links_finds_faults(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("check_links", ROOT / "tools" / "check_links.py")
    assert spec and spec.loader
    check = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(check)
    (tmp_path / "b.md").write_text("# A heading, with `code`\n", encoding="utf-8")
    page = tmp_path / "a.md"
    page.write_text("[1](b.md) [2](b.md#a-heading-with-code) [3](c.md) [4](b.md#nothing) [5](https://x.org) `[6](d)`\n")
    assert [text.split(": ")[1:] for text in check.problems(page, tmp_path)] == [
        ["c.md", "no such file"], ["b.md#nothing", "no such heading"]]  # fmt: skip


def test_the_site_s_menu_and_api_reference_name_what_exists() -> None:
    """`make docs` would say so, but is not part of the suite."""
    menu = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    listed = [page for entry in menu for page in ([entry] if isinstance(entry, str) else next(iter(entry.values())))]
    assert not [page for page in listed if not (ROOT / "docs" / page).is_file()]
    for name in re.findall(r"^::: (\S+)", (ROOT / "docs" / "api.md").read_text(encoding="utf-8"), re.MULTILINE):
        module, _, attribute = name.rpartition(".")
        assert name == "shoal.api" or hasattr(import_module(module), attribute), name
