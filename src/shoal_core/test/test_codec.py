"""Core types as bytes of ROS messages: there and back, values worked out by hand, and what is refused."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from shoal.errors import ShoalError
from shoal.guidance.formation import Formation
from shoal.messages.health import Code, Health, Issue, Mode, Severity
from shoal.messages.odometry import Odometry
from shoal.messages.placement import Placement
from shoal.messages.plan import Plan
from shoal.messages.preview import Preview
from shoal.recordings import cdr, codec, typestore
from shoal.recordings.codec_display import diagnostics_to_bytes, health_status
from shoal.recordings.diagnostic_values import health_from_values, health_values
from shoal.recordings.placement_json import formation_from_json, formation_to_json

RNG = np.random.default_rng(5)


def some_odometry() -> Odometry:
    q = RNG.standard_normal(4)
    parts = RNG.normal(size=3), q / np.linalg.norm(q), RNG.normal(size=3), RNG.normal(size=3)
    return Odometry.of_parts(12.345678901, *parts)


def some_plan(points: int = 17) -> Plan:
    times = 3.2 + np.cumsum(RNG.uniform(0.05, 0.2, points))
    return Plan("rov1", 41, 3.1, times, RNG.normal(size=(points, 3)), RNG.normal(size=(points, 3)), False)


class TestOdometry:
    @pytest.mark.parametrize("name", ["a", "ab", "abc", "abcd", "abcde", "abcdef", "abcdefg", "abcdefgh"])
    def test_there_and_back_for_every_alignment(self, name: str) -> None:
        before = some_odometry()
        data = codec.odometry_to_bytes(before, name)
        after = codec.odometry_from_bytes(data)
        assert after.stamp_s == pytest.approx(before.stamp_s, abs=1e-9)
        np.testing.assert_allclose(after.state, before.state, atol=1e-14)
        assert codec.read_odometry(data).child_frame == f"{name}/base_link"

    def test_by_hand(self) -> None:
        """Heading east, 2 m north, 3 m east, 5 m deep, moving ahead and to starboard, turning to starboard."""
        half = math.radians(90) / 2
        state = np.array([2, 3, 5, math.cos(half), 0, 0, math.sin(half), 0.4, 0.1, 0.2, 0, 0, 0.3])
        message = typestore.from_bytes(codec.odometry_to_bytes(Odometry(1.5, state), "rov1"), codec.ODOMETRY)
        p, q = message.pose.pose.position, message.pose.pose.orientation
        assert (p.x, p.y, p.z) == (3, 2, -5)
        assert (q.x, q.y, q.z, abs(q.w)) == pytest.approx((0, 0, 0, 1))  # x along east: no rotation in ENU
        linear, angular = message.twist.twist.linear, message.twist.twist.angular
        assert (linear.x, linear.y, linear.z) == (0.4, -0.1, -0.2)
        assert angular.z == -0.3
        assert (message.header.frame_id, message.child_frame_id) == ("map", "rov1/base_link")
        assert (message.header.stamp.sec, message.header.stamp.nanosec) == (1, 500_000_000)

    def test_big_endian_is_read_the_slow_way(self) -> None:
        before = some_odometry()
        message = typestore.from_bytes(codec.odometry_to_bytes(before, "rov1"), codec.ODOMETRY)
        other = bytes(typestore.store().serialize_cdr(message, codec.ODOMETRY, little_endian=False))
        assert cdr.read_odometry(other) is None
        np.testing.assert_allclose(codec.odometry_from_bytes(other).state, before.state, atol=1e-14)

    def test_a_number_that_is_not_finite_arrives_as_it_is(self) -> None:
        """The gate decides about it, and must find the rest of the state untouched."""
        before = some_odometry()
        before.state[1] = np.nan
        after = codec.odometry_from_bytes(codec.odometry_to_bytes(before, "rov1"))
        assert np.isnan(after.state).tolist() == np.isnan(before.state).tolist()

    def test_torn_bytes_are_refused(self) -> None:
        data = codec.odometry_to_bytes(some_odometry(), "rov1")
        for length in (0, 3, 20, 100, len(data) - 1):
            with pytest.raises(ShoalError, match="expected a whole message"):
                codec.odometry_from_bytes(data[:length])


class TestPoses:
    def test_pose_by_hand(self) -> None:
        """3 m north, 4 m east, 5 m deep, heading east: no rotation in ENU."""
        data = codec.pose_to_bytes(2.25, np.array([3.0, 4.0, 5.0]), math.radians(90))
        message = typestore.from_bytes(data, "geometry_msgs/msg/PoseStamped")
        p, q = message.pose.position, message.pose.orientation
        assert (p.x, p.y, p.z) == (4.0, 3.0, -5.0) and (q.x, q.y, q.z, abs(q.w)) == pytest.approx((0, 0, 0, 1))
        stamp = message.header.stamp
        assert (stamp.sec, stamp.nanosec, message.header.frame_id) == (2, 250_000_000, "map")
        assert typestore.to_bytes(message) == data

    @pytest.mark.parametrize("points", [0, 1, 2, 17])
    def test_path(self, points: int) -> None:
        times, positions = 1.0 + 0.5 * np.arange(points), RNG.normal(size=(points, 3))
        data = codec.path_to_bytes(0.75, times, positions)
        message = typestore.from_bytes(data, "nav_msgs/msg/Path")
        assert (message.header.stamp.nanosec, message.header.frame_id) == (750_000_000, "map")
        assert [item.header.stamp.sec + item.header.stamp.nanosec * 1e-9 for item in message.poses] == times.tolist()
        read = np.array([[p.pose.position.y, p.pose.position.x, -p.pose.position.z] for p in message.poses])
        np.testing.assert_array_equal(read.reshape(-1, 3), positions)
        assert {(p.header.frame_id, round(p.pose.orientation.w, 9)) for p in message.poses} <= {("map", 0.707106781)}
        assert typestore.to_bytes(message) == data


class TestTrajectories:
    @pytest.mark.parametrize("points", [1, 17])
    def test_plan_there_and_back(self, points: int) -> None:
        before = some_plan(points)
        after = codec.plan_from_bytes(codec.plan_to_bytes(before))
        assert (after.vehicle, after.sequence, after.committed) == ("rov1", 41, False)
        assert after.stamp_s == pytest.approx(before.stamp_s, abs=1e-9)
        np.testing.assert_allclose(after.times_s, before.times_s, atol=2e-9)
        np.testing.assert_allclose(after.positions_m, before.positions_m, atol=1e-14)
        np.testing.assert_allclose(after.velocities_mps, before.velocities_mps, atol=1e-14)

    def test_plan_by_hand(self) -> None:
        plan = Plan("rov1", 7, 1.5, np.array([1.5, 1.75]), np.array([[1.0, 2, 3]] * 2), np.array([[0.1, 0.2, 0.3]] * 2))
        message = typestore.from_bytes(codec.plan_to_bytes(plan), codec.TRAJECTORY)
        assert list(message.joint_names) == ["rov1", "seq=7", "committed=1"]
        point = message.points[1]
        p, v = point.transforms[0].translation, point.velocities[0].linear
        assert (p.x, p.y, p.z, v.x, v.y, v.z) == (2.0, 1.0, -3.0, 0.2, 0.1, -0.3)
        assert (point.time_from_start.sec, point.time_from_start.nanosec) == (0, 250_000_000)
        assert message.header.frame_id == "map"

    @pytest.mark.parametrize("headings", [None, np.linspace(-4.0, 9.0, 30), np.linspace(0.1, 0.4, 30)])
    def test_preview_there_and_back(self, headings: np.ndarray | None) -> None:
        times = 7.0 + 0.1 * np.arange(30)
        before = Preview(times, RNG.normal(size=(30, 3)), RNG.normal(size=(30, 3)), headings)
        after = codec.preview_from_bytes(codec.preview_to_bytes(before, 7.0))
        np.testing.assert_allclose(after.times_s, times, atol=2e-9)
        np.testing.assert_allclose(after.positions_m, before.positions_m, atol=1e-14)
        np.testing.assert_allclose(after.velocities_mps, before.velocities_mps, atol=1e-14)
        if headings is None:
            assert after.headings_rad is None
        else:
            assert after.headings_rad is not None
            turns = (after.headings_rad - headings) / (2 * np.pi)
            np.testing.assert_allclose(turns, np.round(turns[0]), atol=1e-12)  # whole turns, the same at every point

    def test_what_is_no_plan_is_refused(self) -> None:
        one = Preview(np.ones(1), np.zeros((1, 3)), np.zeros((1, 3)))
        for name in ("rov1", "seq=3"):
            with pytest.raises(ShoalError, match=r"plan: joint_names = .* expected \[vehicle, seq=N"):
                codec.plan_from_bytes(codec.preview_to_bytes(one, 0.0, name))
        with pytest.raises(ShoalError, match="expected a whole message"):
            codec.plan_from_bytes(b"\0\1\0\0nonsense")

    def test_reference_needs_increasing_times(self) -> None:
        swapped = Preview(np.array([1.0, 0.5]), np.zeros((2, 3)), np.zeros((2, 3)))
        with pytest.raises(ShoalError, match="increasing times"):
            codec.preview_from_bytes(codec.preview_to_bytes(swapped, 0.0))
        empty = Preview(np.empty(0), np.empty((0, 3)), np.empty((0, 3)))
        with pytest.raises(ShoalError, match="no points"):
            codec.preview_from_bytes(codec.preview_to_bytes(empty, 0.0))


class TestFormation:
    @pytest.mark.parametrize(
        "formation",
        [
            Formation(kind="point", spacing_m=2.2),
            Formation(kind="ring", radius_m=((0.0, 3.0), (10.0, 4.0))),
            Formation(kind="line", spacing_m=2.0, heading_deg=20.0),
        ],
    )
    def test_there_and_back(self, formation: Formation) -> None:
        names = ["a", "b", "c"]
        placed = formation.assign(names, RNG.normal(size=(3, 3)), np.zeros(3), yaw_rad=0.3)
        before = Placement(
            placed.offsets, placed.radius_m, placed.headings_rad, 0.3, placed.order, (("a", "b"), ("c", "a"))
        )
        after = formation_from_json(formation_to_json(before))
        assert (after.sight, after.order) == (before.sight, before.order)
        common = Preview(np.arange(4.0), RNG.normal(size=(4, 3)), RNG.normal(size=(4, 3)))
        for name in names:
            was, now = before.setpoint(name, common), after.setpoint(name, common)
            np.testing.assert_allclose(now.positions_m, was.positions_m, atol=1e-12)
            np.testing.assert_allclose(now.velocities_mps, was.velocities_mps, atol=1e-12)
            if was.headings_rad is not None:
                np.testing.assert_allclose(now.headings_rad, was.headings_rad, atol=1e-12)

    def test_one_vehicle_at_the_common_point(self) -> None:
        placed = Formation(kind="point").assign(["a"], np.zeros((1, 3)), np.zeros(3))
        assert formation_from_json(formation_to_json(placed)).radius_m == 0.0

    @pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
    @pytest.mark.parametrize("key", ["offsets.a.1", "radius_m", "radius_m.0.1", "headings_rad.a", "yaw_rad"])
    def test_a_number_that_is_not_finite_is_refused_by_name(self, key: str, number: str) -> None:
        radius = "[[0, @radius_m.0.1@]]" if key.startswith("radius_m.") else "@radius_m@"
        text = '{"offsets": {"a": [0, @offsets.a.1@, 0]}, "radius_m": ' + radius
        text += ', "headings_rad": {"a": @headings_rad.a@},'
        text += ' "yaw_rad": @yaw_rad@, "order": ["a"], "sight": []}'
        parts = text.split("@")
        sound, broken = ("".join(p if i % 2 == 0 else fill(p) for i, p in enumerate(parts))
                         for fill in (lambda _: "1", lambda p: number if p == key else "1"))  # fmt: skip
        assert formation_from_json(sound).order == ("a",)
        with pytest.raises(ShoalError, match=rf"/fleet/formation: {key.split('.')[0]}.*finite") as raised:
            formation_from_json(broken)
        assert "\n" not in str(raised.value)

    @pytest.mark.parametrize(
        ("change", "sentence"),
        [
            ({"offsets": {}}, "offsets"),
            ({"offsets": 3}, "offsets"),
            ({"offsets": {"a": [0, 0]}}, "offsets"),
            ({"order": ["a", "z"]}, r"order is of \['a', 'z'\]"),
            ({"headings_rad": {"z": 0.0}}, "headings_rad is of"),
            ({"sight": [["a", "z"]]}, "sight names 'z'"),
            ({"radius_m": -1.0}, "radius_m"),
            ({"radius_m": [[1.0, 2.0], [1.0, 3.0]]}, "increasing"),
            ({"radius_m": []}, "at least 1"),
            ({"more": 1}, "more"),
        ],
    )
    def test_what_cannot_be_a_formation_is_named(self, change: dict[str, object], sentence: str) -> None:
        good = {
            "offsets": {"a": [0, 0, 0]},
            "radius_m": 1,
            "headings_rad": None,
            "yaw_rad": 0,
            "order": ["a"],
            "sight": [],
        }
        formation_from_json(json.dumps(good))
        with pytest.raises(ShoalError, match=rf"/fleet/formation: .*{sentence}"):
            formation_from_json(json.dumps(good | change))

    def test_what_is_no_json(self) -> None:
        for text in ("", "nonsense", "[1]", "3", '"a"'):
            with pytest.raises(ShoalError, match=r"/fleet/formation: .*expected a formation"):
                formation_from_json(text)

    def test_what_cannot_travel_is_not_sent(self) -> None:
        offsets, order = {"a": np.zeros(3)}, ("a",)
        with pytest.raises(ShoalError, match="radius is a function"):
            formation_to_json(Placement(offsets, lambda t: 1.0 + t, None, 0.0, order))
        with pytest.raises(ShoalError, match="not finite"):
            formation_to_json(Placement({"a": np.array([0.0, np.nan, 0.0])}, 1.0, None, 0.0, order))


class TestHealth:
    HEALTH = Health(
        Mode.PREVIOUS_PLAN,
        (Issue(Code.STALE_PLAN, Severity.WARNING, "rov2", 1.0 / 3.0), Issue(Code.SOLVER_FAILED, Severity.ERROR)),
        solve_ms=1.25, iterations=3, slack_soft=0.1, slack_hard=0.2, neighbour_age_s={"rov2": 0.1 + 0.2},
        overrun=True, committed=False,
    )  # fmt: skip

    def test_there_and_back(self) -> None:
        assert health_from_values(health_values(self.HEALTH)) == self.HEALTH
        assert health_from_values(health_values(Health(Mode.CONTROLLER))) == Health(Mode.CONTROLLER)

    def test_through_a_message(self) -> None:
        status = health_status("rov1", self.HEALTH)
        message = typestore.from_bytes(diagnostics_to_bytes(2.5, [status]), "diagnostic_msgs/msg/DiagnosticArray")
        (read,) = message.status
        assert (read.name, read.hardware_id, read.level) == ("shoal: rov1 controller", "rov1", 2)
        assert read.message == "following the previous plan: stale plan from rov2; solver failed"
        assert health_from_values({pair.key: pair.value for pair in read.values}) == self.HEALTH
        assert dict(status.values)["reason"] == "stale plan from rov2: 0.3 s old; solver failed"
        assert json.loads(dict(status.values)["issues"]) == [
            ["stale_plan", 1, "rov2", 1.0 / 3.0],
            ["solver_failed", 2, "", None],
        ]

    @pytest.mark.parametrize(
        ("health", "expected"),
        [
            (Health(Mode.CONTROLLER), Severity.OK),
            (Health(Mode.CONTROLLER, (Issue(Code.STALE_PLAN, Severity.WARNING),)), Severity.WARNING),
            (Health(Mode.STATION_KEEPING), Severity.WARNING),
            (Health(Mode.STATION_KEEPING, (Issue(Code.SOLVER_FAILED, Severity.ERROR),)), Severity.ERROR),
            (Health(Mode.ZERO_THRUST), Severity.ERROR),
        ],
    )
    def test_level(self, health: Health, expected: Severity) -> None:
        assert health_status("a", health).level is expected

    @pytest.mark.parametrize(
        ("values", "mode"),
        [
            ({"mode": "nmpc"}, Mode.CONTROLLER),
            ({"mode": "shifted_plan", "reason": "solver failed"}, Mode.PREVIOUS_PLAN),
            ({"mode": "SHIFTED_PLAN"}, Mode.PREVIOUS_PLAN),
            ({"message": "STATION_KEEPING; solver failed"}, Mode.STATION_KEEPING),
            ({"mode": "zero_thrust", "message": "zero thrust: no odometry"}, Mode.ZERO_THRUST),
            ({}, Mode.CONTROLLER),
        ],
    )
    def test_words_of_older_recordings(self, values: dict[str, str], mode: Mode) -> None:
        assert health_from_values(values).mode is mode

    def test_nonsense_in_the_values_is_left_out(self) -> None:
        known = '["stale_plan", 1, "a", 2.0]'
        for text in (
            "",
            "{",
            "3",
            "null",
            '["x"]',
            f'[["from_the_future", 1, "", null], {known}, ["stale_plan", 9, "", 1]]',
        ):
            found = health_from_values({"mode": "controller", "issues": text, "solve_ms": "soon"})
            assert found.issues == ((Issue(Code.STALE_PLAN, Severity.WARNING, "a", 2.0),) if known in text else ())
            assert math.isnan(found.solve_ms)
