"""For whom the clock waits: nobody answers for a controller that has not stepped itself."""

from __future__ import annotations

from shoal_dynamics.lock_step import LockStep


def test_alone_thrust_is_the_answer() -> None:
    lock = LockStep()
    lock.stepped("a", 5)  # told by one that is about to join: not asked for yet
    assert not lock.answered("a", False, 10)
    assert lock.answered("a", True, 10)
    lock.given_up.add("a")
    assert lock.answered("a", False, 20) and lock.hurries  # not waited for
    lock.commanded("a")
    assert not lock.answered("a", False, 20)


def test_a_mate_does_not_answer_for_a_joined_vehicle_that_lags() -> None:
    lock = LockStep()
    lock.join(["a", "b"])
    assert lock.answered("a", True, 10)  # it has not learnt yet that it is joined
    lock.stepped("a", 11)
    assert lock.answered("a", True, 10)
    assert not lock.answered("a", True, 20)  # its thrusters are driven, but it has not stepped
    lock.given_up.add("a")
    lock.commanded("a")  # by the pilot
    assert lock.answered("a", True, 30) and not lock.hurries
    lock.stepped("a", 31)
    assert lock.hurries and lock.answered("a", True, 30) and not lock.answered("a", False, 30)
    lock.join([])
    assert lock.answered("a", True, 40)
