"""Places in a formation for the vehicles of a fleet, with who must see whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.fleet.file import Fleet
from shoal.fleet.topology import Pairs, pairs
from shoal.guidance.director import Director
from shoal.guidance.formation import Formation
from shoal.guidance.pace import Lag, furthest_behind
from shoal.guidance.ready import standing_angle_deg
from shoal.messages.placement import Placement
from shoal.messages.preview import Preview
from shoal.vehicles.effort import MotionEffort

Array = NDArray[np.float64]
SPARE_DEG = 10.0  # a formation should leave of the cone, for what waves, starts and late plans take of it


def assign(
    fleet: Fleet,
    formation: Formation,
    positions_m: Mapping[str, Array],
    center_m: Array,
    yaw_rad: float = 0.0,
    t_s: float = 0.0,
) -> Placement:
    """Places for vehicles where they are now; a ShoalError that says why the formation cannot be."""
    points = np.array([positions_m[name] for name in fleet.names])
    placement = formation.assign(fleet.names, points, center_m, yaw_rad, t_s)
    return replace(placement, sight=sight_pairs(fleet, placement.order))


def sight_pairs(fleet: Fleet, order: Sequence[str] = ()) -> Pairs:
    """Who must see whom; `order` around the ring as they stand, so that a topology's strides are geometric ones."""
    kind = fleet.sight.pairs if fleet.sight.topology == "given" else fleet.sight.topology
    return pairs(kind, order if len(order) == len(fleet.names) else fleet.names, fleet.sight.stride)


def places_m(placement: Placement, position_m: Array, yaw_rad: float, t_s: float) -> dict[str, Array]:
    """Every vehicle's place (3,) when the common point is there."""
    point = Preview(np.array([t_s]), np.asarray(position_m)[None], np.zeros((1, 3)), np.array([yaw_rad]))
    return {name: placement.setpoint(name, point).positions_m[0] for name in placement.offsets}


def lag_of(director: Director, placement: Placement | None, positions_m: Mapping[str, Array], t_s: float) -> Lag | None:
    """Who is furthest behind its place, while there is something to be behind of."""
    course = director.course_mps(t_s)
    if course is None or not course.any() or placement is None:
        return None
    places = places_m(placement, director.motion(t_s).position_m, director.yaw_rad(t_s), t_s)
    return furthest_behind(positions_m, places, course)


def swimmers(fleet: Fleet, placement: Placement, yaws_rad: Mapping[str, float]) -> list[tuple[MotionEffort, float]]:
    """Each vehicle's effort and heading in the formation: towards those it must see, as given, or else as it is."""
    places = places_m(placement, np.zeros(3), placement.yaw_rad, 0.0)
    found = []
    for member in fleet.vehicles:
        seen = [places[b] - places[member.name] for a, b in placement.sight if a == member.name]
        way = np.sum([to / max(float(np.linalg.norm(to)), 1e-9) for to in seen], axis=0) if seen else np.zeros(3)
        yaw = yaws_rad.get(member.name, 0.0)
        if np.hypot(way[0], way[1]) > 1e-2:
            yaw = float(np.arctan2(way[1], way[0]))
        elif placement.headings_rad is not None:
            yaw = placement.yaw_rad + placement.headings_rad[member.name]
        found.append((MotionEffort(member.vehicle()), yaw))
    return found


def widest_sight(placement: Placement) -> tuple[float, str, str]:
    """The largest angle (°) off the bow at which a vehicle in its place sees one it must see: angle, seer, seen."""
    places = places_m(placement, np.zeros(3), 0.0, 0.0)
    found = [(standing_angle_deg(a, b, places, placement.sight), a, b) for a, b in placement.sight]
    return max(found, default=(0.0, "", ""))


def sight_problem(fleet: Fleet, formation: Formation | None = None, spare_deg: float = SPARE_DEG) -> str:
    """What keeps the formation from holding its limits of sight, in a sentence; empty: it can, with that to spare."""
    formation = formation or fleet.formation
    starts = {m.name: np.array(m.start_m) for m in fleet.vehicles}
    placement = assign(fleet, formation, starts, np.mean(list(starts.values()), axis=0))
    angle_deg, seer, seen = widest_sight(placement)
    hard_deg = fleet.sight.hard_deg
    if angle_deg < hard_deg - spare_deg - 1e-6 or not seer:
        return ""
    kept = "cannot be kept" if angle_deg > hard_deg - 1e-6 else f"leaves only {hard_deg - angle_deg:.0f}°"
    return (
        f"sight.topology = '{fleet.sight.topology}': {seer} has {seen} {angle_deg:.0f}° off its bow in formation "
        f"'{formation.kind}', and hard_deg = {hard_deg:.0f} {kept}; "
        f"expected less than {hard_deg - SPARE_DEG:.0f}°, such as with topology 'across' on a ring"
    )
