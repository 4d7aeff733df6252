"""Response times belong to the odometry that was answered."""

from __future__ import annotations

from shoal_dynamics.response_time import ResponseTimer


def test_answers_know_which_odometry_they_belong_to() -> None:
    answers = ResponseTimer(thrusters=2)
    ms = 1_000_000
    answers.received(1, 1 * ms, 1 * ms)  # before any question: no latency of it
    for k in range(1, 101):
        answers.sent(100 * k * ms)
        assert not answers.complete
        answers.received(0, (100 * k + 4) * ms, (100 * k + 5) * ms)
        answers.received(1, (100 * k + 5) * ms, (100 * k + 6) * ms)
        assert answers.complete
    answers.sent(10_100 * ms)
    answers.sent(10_200 * ms)  # one is not answered
    answers.received(1, 10_199 * ms, 10_201 * ms)  # and then late: to the one before
    figures = answers.summary(0.1)
    assert figures["latency_median_ms"] == 6.0
    assert figures["latency_max_ms"] == 101.0
    assert figures["asked"] == 102 and answers.in_time == 100
    assert figures["jitter_median_ms"] == 0.0
