"""Every health code has words in both tones, whatever its subject and value."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.messages.health import Code, Health, Issue, Mode, Severity
from shoal.messages.wording import MODES, WORDS, log_line, sentence, sentences, summary

VALUES = st.none() | st.floats()
SUBJECTS = st.text(max_size=20)
ISSUES = st.builds(Issue, st.sampled_from(Code), st.sampled_from(Severity), SUBJECTS, VALUES)


def test_no_code_and_no_mode_is_without_words() -> None:
    assert set(WORDS) == set(Code) and set(MODES) == set(Mode)


@given(ISSUES)
def test_both_tones_format_with_anything(issue: Issue) -> None:
    short, long = sentence(issue), log_line(issue)
    if "{subject}" in WORDS[issue.code][0]:
        assert issue.subject in short
    if "{subject}" in WORDS[issue.code][1] and issue.value is not None:
        assert issue.subject in long
    if issue.value is None:
        assert "None" not in long.replace(issue.subject, "")


@pytest.mark.parametrize("code", list(Code))
def test_an_operators_sentence_has_no_figures(code: Code) -> None:
    """It must not change ten times a second."""
    texts = {sentence(Issue(code, Severity.WARNING, "bluerov", value)) for value in (None, 0.0, 1.5, math.inf)}
    assert len(texts) == 1 and not re.search(r"\d", texts.pop())


@pytest.mark.parametrize("code", [c for c in Code if "{value" in WORDS[c][1]])
def test_a_log_line_has_the_figure(code: Code) -> None:
    assert log_line(Issue(code, Severity.WARNING, "bluerov", 3.0)) != log_line(Issue(code, Severity.WARNING, "bluerov"))
    assert "3" in log_line(Issue(code, Severity.WARNING, "bluerov", 3.0))


def test_no_two_codes_read_alike() -> None:
    for tone in (0, 1):
        texts = [words[tone] for words in WORDS.values()]
        assert len(set(texts)) == len(texts)


def issue(code: Code, subject: str = "", value: float | None = None) -> Issue:
    return Issue(code, Severity.WARNING, subject, value)


@pytest.mark.parametrize(
    ("health", "words"),
    [
        (Health(Mode.CONTROLLER), "following"),
        (Health(Mode.CONTROLLER, (issue(Code.NO_REFERENCE),)), "holding station: no reference"),
        (Health(Mode.CONTROLLER, (issue(Code.LOST_CONTACT, "b", 3.0),)), "lost contact with b"),
        (
            Health(Mode.CONTROLLER, (issue(Code.MODEL_MISMATCH, value=80.0), issue(Code.STALE_PLAN, "b", 2.5))),
            "model does not match the vehicle: large unexplained force; stale plan from b",
        ),
        (
            Health(Mode.PREVIOUS_PLAN, (issue(Code.ODOMETRY_STALE, value=0.61),)),
            "following the previous plan: odometry is stale",
        ),
        (Health(Mode.STATION_KEEPING, (issue(Code.SOLVER_FAILED, value=3.0),)), "keeping station: solver failed"),
        (Health(Mode.ZERO_THRUST, (issue(Code.ODOMETRY_NOT_FINITE),)), "zero thrust: odometry is not finite"),
        (Health(Mode.ZERO_THRUST), "zero thrust"),
    ],
)
def test_summary_of_a_vehicle(health: Health, words: str) -> None:
    assert summary(health) == words


def test_equal_sentences_are_read_once() -> None:
    assert sentences([issue(Code.NO_ODOMETRY), issue(Code.NO_ODOMETRY, value=1.0)]) == "no odometry"


def test_the_worst_issue_gives_the_severity() -> None:
    assert Health(Mode.CONTROLLER).severity is Severity.OK
    mixed = (issue(Code.NO_ODOMETRY), Issue(Code.STOPPED, Severity.ERROR), issue(Code.STALE_PLAN))
    assert Health(Mode.ZERO_THRUST, mixed).severity is Severity.ERROR
    assert Health(Mode.ZERO_THRUST, mixed).has(Code.STOPPED) and not Health(Mode.CONTROLLER).has(Code.STOPPED)
