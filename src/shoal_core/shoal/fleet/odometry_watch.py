"""How often odometry comes, how long to wait for the next, and whether it still measures anything."""

from __future__ import annotations

import math
from collections import deque

from shoal.estimation.ekf import BLOCK_NAMES, Surprise
from shoal.fleet.gate import GateSettings
from shoal.messages.health import Code, Issue, Severity
from shoal.messages.odometry import Odometry
from shoal.messages.state import TWIST

INTERVALS = 5  # whose median is the usual one: a single gap is no habit
PATIENCE = 2.5  # usual intervals without odometry, then it has stopped
SLOW_S = 0.25  # usual interval beyond which the vehicle is steered with less vigour


class OdometryWatch:
    """`see` every measurement that is new."""

    def __init__(self, settings: GateSettings) -> None:
        self._settings = settings
        self.clear()

    def clear(self) -> None:
        """The clock went back."""
        self._stamp_s: float | None = None
        self._intervals_s: deque[float] = deque(maxlen=INTERVALS)
        self._ages_s: deque[float] = deque(maxlen=INTERVALS)
        self._seen_s = math.inf  # when the last one came
        self._last: bytes = b""
        self.interval_s = 0.0  # as usual; 0 while not known
        self.age_limit_s = self._settings.odometry_age_s

    def see(self, t_s: float, odometry: Odometry) -> None:
        """A new measurement that is here at `t_s`."""
        if self._stamp_s is not None:
            self._intervals_s.append(odometry.stamp_s - self._stamp_s)
            self.interval_s = _median(self._intervals_s)
        self._ages_s.append(max(0.0, t_s - odometry.stamp_s))
        self._stamp_s, self._seen_s = odometry.stamp_s, t_s
        s = self._settings
        waiting_s = PATIENCE * self.interval_s + _median(self._ages_s)
        self.age_limit_s = max(s.odometry_age_s, min(s.longest_age_s, waiting_s))

    def is_frozen(self, odometry: Odometry) -> bool:
        """Whether it repeats the last one to the last digit, though the vehicle moves by its own account."""
        seen = odometry.state.tobytes()
        same, self._last = seen == self._last, seen
        return same and any(odometry.state[TWIST].tolist())

    def frozen(self, t_s: float) -> Issue | None:
        """It is: whether what was measured before has become too old by now."""
        age_s = 0.0 if self._stamp_s is None else t_s - self._stamp_s
        return Issue(Code.ODOMETRY_FROZEN, Severity.WARNING, value=age_s) if age_s > self.age_limit_s else None

    @property
    def slowness(self) -> float:
        """How many times slower than what full vigour takes; 1 if it is not."""
        return max(1.0, self.interval_s / SLOW_S)

    def thrust_share(self, t_s: float) -> float:
        """Of the thrusters' limits: what cannot be seen for long must not get far. The present wait counts, too."""
        return 1.0 / math.sqrt(max(self.slowness, (t_s - self._seen_s) / SLOW_S))

    def issues(self) -> tuple[Issue, ...]:
        """What an operator should know."""
        if self.slowness <= 1.0:
            return ()
        return (Issue(Code.ODOMETRY_SLOW, Severity.WARNING, value=1.0 / self.interval_s),)


def surprise_issue(surprise: Surprise) -> Issue:
    """What an operator should know of a measurement that was left out, or followed."""
    code = Code.MAP_CORRECTED if surprise.believed else Code.ODOMETRY_OUTLIER
    return Issue(code, Severity.WARNING, BLOCK_NAMES[surprise.block], surprise.off)


def _median(values: deque[float]) -> float:
    """The lower one; 0 of none."""
    return sorted(values)[(len(values) - 1) // 2] if values else 0.0
