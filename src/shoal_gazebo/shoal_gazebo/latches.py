"""Latches between the vehicles of a fleet: one DetachableJoint of Gazebo for each pair whose ports fit.

Gazebo fixes the two links as they lie when it is told to attach, and does so at once when the second vehicle appears;
`port_keeper` opens the latch then.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from shoal.fleet.body_shape import shape_of
from shoal.fleet.file import Fleet
from shoal.vehicles.ports import fits

SYSTEM = 'filename="gz-sim-detachable-joint-system" name="gz::sim::systems::DetachableJoint"'
ATTACH, DETACH, STATE = "attach", "detach", "state"
DETACHED = "detached"  # what Gazebo says on the topic of its state


@dataclass(frozen=True)
class LatchPair:
    """The model of `parent` has the system, and `child` is fixed to it."""

    parent: str
    child: str

    @property
    def names(self) -> frozenset[str]:
        """Of both."""
        return frozenset((self.parent, self.child))

    def topic(self, word: str) -> str:
        """The same on both sides of the bridge."""
        return f"/model/{self.parent}/joint/{self.child}/{word}"

    def system(self) -> str:
        """For the parent's model."""
        return (
            f"    <plugin {SYSTEM}>\n"
            "      <parent_link>base_link</parent_link>\n"
            f"      <child_model>{self.child}</child_model>\n"
            "      <child_model_link>base_link</child_model_link>\n"
            f"      <detach_topic>{self.topic(DETACH)}</detach_topic>\n"
            f"      <attach_topic>{self.topic(ATTACH)}</attach_topic>\n"
            f"      <output_topic>{self.topic(STATE)}</output_topic>\n"
            "    </plugin>"
        )


def latch_pairs(fleet: Fleet) -> tuple[LatchPair, ...]:
    """All that could ever dock with each other, in the order of the fleet file."""
    ports = {member.name: shape_of(member).ports for member in fleet.vehicles}
    return tuple(
        LatchPair(a, b) for a, b in combinations(fleet.names, 2) if any(fits(p, q) for p in ports[a] for q in ports[b])
    )


def with_latches(model: str, pairs: tuple[LatchPair, ...]) -> str:
    """The SDF of a vehicle with these at its end."""
    end = model.rindex("  </model>")
    return model[:end] + "".join(f"{pair.system()}\n" for pair in pairs) + model[end:]
