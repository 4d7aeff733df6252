"""The committed page of topics is what the table of topics makes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from shoal.cli import app
from shoal.messages.qos import PROFILES, Qos
from shoal.messages.topic_contents import CONTENTS
from shoal.messages.topics import TOPICS
from shoal.reports.topics_page import topics_page

DOCS = Path(__file__).resolve().parents[3] / "docs"


def test_the_committed_page_is_up_to_date() -> None:
    page = (DOCS / "topics.md").read_text(encoding="utf-8")
    assert page == topics_page(), "make it anew: shoal docs topics --out docs/topics.md"


def test_every_topic_has_its_line_and_nothing_else_has() -> None:
    found = re.findall(r"^\| `(\S+)` \| (\S+) \| ([^|]+) \|", topics_page(), re.MULTILINE)
    wanted = [
        (t.of(vehicle="<vehicle>", other="<other>", thruster="<thruster>", port="<port>"), t.type) for t in TOPICS
    ]
    assert [line[:2] for line in found] == wanted
    assert [qos for _, _, qos in found] == [str(PROFILES[t.qos]) for t in TOPICS]
    assert set(CONTENTS) <= set(TOPICS)


def test_qos_in_words() -> None:
    assert str(Qos(reliable=False, depth=5)) == "best effort, depth 5"
    assert str(Qos(reliable=True, depth=1, latched=True)) == "reliable, transient local, depth 1"


def test_command_line(tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["docs", "topics"]).output == topics_page()
    done = CliRunner().invoke(app, ["docs", "topics", "--out", str(tmp_path / "page.md")])
    assert done.exit_code == 0 and (tmp_path / "page.md").read_text(encoding="utf-8") == topics_page()
    assert CliRunner().invoke(app, ["docs", "topics", "--out", str(tmp_path)]).exit_code == 2


@pytest.mark.parametrize("page", ["README.md", "ros.md", "recordings.md"])
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", (DOCS / page).read_text(encoding="utf-8")):
        assert (DOCS / target).exists(), target
