"""Orders, status and sightings of a docking as they travel."""

from __future__ import annotations

import json

import numpy as np
import pytest

from shoal.errors import ShoalError
from shoal.frames import from_euler, matrix, multiply
from shoal.messages.docking import DockingFeedback, DockingOrder
from shoal.messages.relative_pose import FiducialPose
from shoal.recordings.docking_json import order_from_json, order_to_json, status_from_json, status_to_json
from shoal.recordings.fiducial_pose import from_ros, to_ros

ORDER = DockingOrder(3, "dock", "a", "stern", "b", "bow", watch_port="bow", watch_m=(1.0, 2.0, 3.0))
STATUS = DockingFeedback(3, "align", 0.4, 0.05, 1.0, 12.0, 1, "the camera was lost", "no such port")
TOPIC = "/b/fiducial/a"
FLIP = np.diag([1.0, -1.0, -1.0])


def spoilt(text: str, **changes: object) -> str:
    return json.dumps(json.loads(text) | changes)


def test_an_order_travels_in_enu_and_comes_back() -> None:
    text = order_to_json(ORDER)
    assert json.loads(text)["watch_m"] == [2.0, 1.0, -3.0]
    assert order_from_json(text) == ORDER
    assert order_from_json('{"counter": 1, "action": "undock", "leader": "a", "leader_port": "stern", '
                           '"follower": "b", "follower_port": "bow"}').blind is False  # fmt: skip


def test_a_status_comes_back() -> None:
    assert status_from_json(status_to_json(STATUS), "/b/docking") == STATUS


@pytest.mark.parametrize(("changes", "words"), [
    ({"action": "ram"}, "action"),
    ({"counter": -1}, "counter"),
    ({"blind": "perhaps"}, "blind"),
    ({"watch_m": [0, 0]}, "watch_m"),
    ({"speed": 3}, "speed"),
])  # fmt: skip
def test_an_order_that_cannot_be_believed_is_refused_by_its_key(changes: dict[str, object], words: str) -> None:
    with pytest.raises(ShoalError, match=rf"/fleet/set_docking.*{words}"):
        order_from_json(spoilt(order_to_json(ORDER), **changes))


def test_a_status_with_a_number_that_is_none_is_refused() -> None:
    with pytest.raises(ShoalError, match=r"/b/docking.*gap_m"):
        status_from_json(spoilt(status_to_json(STATUS), gap_m=float("nan")), "/b/docking")
    with pytest.raises(ShoalError, match=r"/b/docking.*not JSON"):
        status_from_json("{", "/b/docking")


def sighting(rng: np.random.Generator) -> FiducialPose:
    root = rng.normal(size=(6, 6))
    attitude = from_euler(*rng.uniform(-1.2, 1.2, 3))
    return FiducialPose(4.5, rng.normal(size=3), attitude, 1e-3 * (root @ root.T + np.eye(6)))


@pytest.mark.parametrize("seed", range(5))
def test_a_sighting_comes_back(seed: int) -> None:
    seen = sighting(np.random.default_rng(seed))
    back = from_ros(seen.stamp_s, *to_ros(seen), TOPIC)
    np.testing.assert_allclose(back.marker_m, seen.marker_m)
    np.testing.assert_allclose(matrix(back.attitude), matrix(seen.attitude), atol=1e-12)
    np.testing.assert_allclose(back.covariance, seen.covariance, atol=1e-15)


def test_the_covariance_on_the_topic_is_of_turns_about_the_observers_axes() -> None:
    """By sampling: small turns about the seen body's axes, as ROS reads them, have the covariance that was sent."""
    rng = np.random.default_rng(7)
    seen = sighting(rng)
    draws = rng.multivariate_normal(np.zeros(6), seen.covariance * 1e-4, size=20_000)
    nominal = matrix(seen.attitude)
    about = np.empty_like(draws)
    about[:, :3] = draws[:, :3] @ FLIP
    for k, (_, _, _, *angles) in enumerate(draws):
        turned = matrix(multiply(seen.attitude, np.array([1.0, *(np.array(angles) / 2)])))
        spin = FLIP @ turned @ nominal.T @ FLIP  # δR of R_now = δR R, in the observer's FLU
        about[k, 3:] = [spin[2, 1], spin[0, 2], spin[1, 0]]
    sent = to_ros(seen)[2].reshape(6, 6) * 1e-4
    scale = np.sqrt(np.outer(np.diag(sent), np.diag(sent)))
    np.testing.assert_allclose(np.cov(about.T) / scale, sent / scale, atol=0.05)


@pytest.mark.parametrize(("change", "words"), [
    ("place", "position = .*expected finite numbers"),
    ("quaternion", "orientation = .*expected 1"),
    ("covariance", "covariance has the eigenvalue"),
])  # fmt: skip
def test_a_sighting_that_no_detector_may_send_names_its_topic(change: str, words: str) -> None:
    place, quaternion, covariance = to_ros(sighting(np.random.default_rng(1)))
    if change == "place":
        place = place * np.nan
    elif change == "quaternion":
        quaternion = quaternion * 2
    else:
        covariance = covariance * 0
    with pytest.raises(ShoalError, match=f"{TOPIC}: {words}"):
        from_ros(0.0, place, quaternion, covariance, TOPIC)
