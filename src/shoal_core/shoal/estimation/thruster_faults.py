"""Which thruster does not do what it is asked: what the model misses, against each thruster's signature.

A thruster of gain g that is asked for u leaves a wrench of (g − 1) u along its own column of B; one that is stuck at s
leaves s − u. No other error of a model has forces and moments in just that proportion. Two ways lead to a suspect:

* the missing wrench is large, and one thruster alone explains nearly all of it; or it jumps along one signature;
* a test: thrusters push against each other so that a healthy vehicle feels nothing, forth, back and forth again;
  what is felt in that rhythm shows a weak thruster that has little to do otherwise.

Neither counts while a changed current explains it as well: water pushes all axes too, and does so suddenly.

Of an assembly, all thrusters of a module may fail together (`module_loss`); they are suspected and tested as one.

A suspect is taken out of use and asked for pushes forth and back by itself, until the answer is clear: what is the
matter with it, or that nothing is. A verdict allows for the error of the measured gain; 'weak' takes two tests.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from shoal.codegen import Buffered
from shoal.config.file_model import FileModel
from shoal.estimation.changed_water import ChangedWater
from shoal.estimation.coasting import coasting
from shoal.estimation.missing_acceleration import MissingAcceleration
from shoal.estimation.module_loss import ModuleLoss, modules_of, test_pattern
from shoal.estimation.sudden_change import SuddenChange
from shoal.estimation.thruster_fault import Kind, ThrusterFault, kind_of
from shoal.estimation.thruster_tests import FEWEST_ROWS, Row, answer, opposed, varying, was_flown
from shoal.frames import matrix
from shoal.messages.state import ATTITUDE, TWIST
from shoal.vehicles.description import Vehicle
from shoal.vehicles.parameters import mass_matrix, parameter_vector, roomy_structure
from shoal.vehicles.scale import VehicleScale, scales_with

Array = NDArray[np.float64]
BANDWIDTH_RADPS = 6.0  # of the filter on the missing wrench …
SUDDEN_RADPS = 12.0  # … and of a quicker one: a reversed thruster turns a vehicle over within a second
LOOK_S, GLANCE_S = 0.1, 0.05  # evidence is weighed this often; a sudden change is looked for that often
MEMORY_S = 1.0  # of evidence
WATER_S = 5.0  # memory of the current: the estimator takes for water within a second what a thruster does wrong
USUAL_S, FIRST_S = 15.0, 3.0  # memory of what the model misses usually; at first it is nothing, kept for this long
SETTLE_S = 0.5  # until force and filter have followed a change of command
WARM_UP_S = 2.0  # after a start, before anything is believed
APART = 0.25  # of the missing wrench: how much worse the next thruster must explain it
TESTED_APART = 1.5  # the same of a test, as a factor
TESTED_LEVEL = 2.5  # squared sigmas: what a test must show at least
TESTED_SHARE = 0.6  # of what varies in a test, explained by one thruster: enough for a verdict by two tests …
TESTED_SUSPECT = 0.3  # … enough for a suspect …
TESTED_NOISE = 4.0  # … but for this much, squared sigmas, which is always there
LEAST_LOSS = 0.25  # of gain, or of the force asked for: less is no suspect, as it would be acquitted by its tests
SECOND_LOSS = 0.4  # beside one that is out of use: who does its work has errors for two, and without both it tumbles
DRIER = 3.0  # a changed current must leave so many times what the suspect leaves
SOUND, FAULTY = 0.8, 0.6  # gain from which on a suspect is acquitted; that a faulty one must be clearly below
SURE = 2.0  # sigmas of the gain that count as clearly
NEARLY, SURER = 0.7, 3.0  # the same of half a thruster on a vehicle that is lighter than described: only in calm water
ONE_TEST = 0.1  # sigma of a single test at least: the vehicle is still coming back from the fault, and that bends it
KIND_TESTS = 3  # then the likeliest kind is named
MOST_TESTS = 4  # of a suspect; who is still not clearly faulty is used again
EXCUSED_S = 20.0  # a thruster that was found sound is not suspected again so soon


class ThrusterWatchSettings(FileModel):
    """When a thruster is suspected, how it is tested, and which ones are not to be used at all."""

    enabled: bool = Field(default=True, description="off: thrusters are taken to do what they are asked")
    out_of_use: str = Field(default="", description="thrusters not to be used, by name, separated by commas")
    force_N: float = Field(
        default=1.5,
        gt=0,
        description="one sigma of forces that the model misses",
        json_schema_extra=scales_with("input"),
    )
    moment_Nm: float = Field(
        default=0.15, gt=0, description="the same of moments", json_schema_extra=scales_with("moment")
    )
    level: float = Field(default=20.0, gt=0, description="missing wrench that is looked into, squared sigmas")
    unexplained: float = Field(default=0.15, gt=0, lt=1, description="share of it that the suspect may leave open")
    lasting_s: float = Field(default=0.4, ge=0, description="so long, before a thruster is a suspect")
    test_every_s: float = Field(
        default=0.0,
        ge=0,
        description="between two tests that show weak thrusters with little to do; 0: no thrust that nobody asked for",
    )
    test_N: float = Field(default=4.0, gt=0, description="push of a test", json_schema_extra=scales_with("input"))
    test_s: float = Field(default=1.6, gt=0, description="length of a test: forth, back, forth")
    stuck_N: float = Field(
        default=4.0, gt=0, description="force of an idle thruster that is stuck", json_schema_extra=scales_with("input")
    )


class ThrusterWatch:
    """`see` each measurement; `faults` by input says who is out of use, and why."""

    def __init__(self, vehicle: Vehicle, settings: ThrusterWatchSettings) -> None:
        self.settings = VehicleScale.of(vehicle).fit(settings)
        s, self._matrix = self.settings, vehicle.input_matrix  # with all thrusters
        self._scale = np.repeat([1 / s.force_N, 1 / s.moment_Nm], 3)
        self._signatures = self._scale[:, None] * self._matrix  # (6,n)
        self._length2 = np.maximum((self._signatures**2).sum(axis=0), 1e-12)
        self._per_thrust: Array | None = None
        count = self._matrix.shape[1]
        self._missing = MissingAcceleration(BANDWIDTH_RADPS, count)
        self._at_once = MissingAcceleration(SUDDEN_RADPS, count)
        self._fixed = np.array([t.kind == "fixed" for t in vehicle.thrusters for _ in range(t.inputs)])
        self._watched = bool(self._fixed.any())  # of azimuths alone none is ever suspected
        self.faults: dict[int, ThrusterFault] = {}
        self._excused_s: dict[int, float] = {}
        self._water = ChangedWater()
        self._sudden = SuddenChange(self._signatures, self._fixed)
        self._modules = ModuleLoss(modules_of(vehicle.input_names) if self._fixed.all() else {}, self._signatures)
        self.set_vehicle(vehicle)
        self.clear()

    def set_vehicle(self, vehicle: Vehicle) -> None:
        """Other numbers, or some thrusters without effect."""
        before = self._per_thrust
        if self._watched:
            structure = roomy_structure(vehicle)
            self._acceleration = Buffered(coasting(structure))
            self._acceleration.inputs[2][:] = parameter_vector(vehicle, structure)
        self._mass, self._used = mass_matrix(vehicle), vehicle.input_matrix
        self._per_thrust = np.linalg.inv(self._mass) @ self._used
        if before is not None:
            self._missing.exchange(before, self._per_thrust)
            self._at_once.exchange(before, self._per_thrust)
        self._opposed = opposed(np.where(self._fixed, self._used, 0.0))

    def clear(self) -> None:
        """Nothing is known of the time before; what was found stays."""
        self._missing.clear()
        self._at_once.clear()
        self._current = np.zeros(3)  # NED
        self._usual, self._usual_s = np.zeros(6), FIRST_S
        self._since_s = self._looked_s = self._glanced_s = -math.inf
        self._suspect, self._suspected_s = -1, math.inf
        self._test_s, self._tested, self._rows = -math.inf, -1, list[Row]()
        suspects = [i for i, f in self.faults.items() if f.kind == "suspect"]
        self._alone, self._pattern = (
            suspects or None,
            test_pattern(suspects, self._signatures),
        )  # who is tested, and how
        self._flown: list[list[Row]] = []  # tests of the suspect
        self._shown_before = 0
        self._water.clear()
        self._sudden.clear()
        self._forget()

    def _forget(self) -> None:
        count = self._matrix.shape[1]
        self._zz, self._weight = 0.0, 0.0
        self._p, self._pu, self._uu, self._u = (np.zeros(count) for _ in range(4))
        self._modules.forget()

    # -- the missing wrench -------------------------------------------------------------------------------------------

    def see(
        self, stamp_s: float, duration_s: float, force_N: Array, measured: Array, state: Array, current_mps: Array
    ) -> bool:
        """A measurement (13,), the estimate with it, and the mean force (n,) since the last one, as believed.

        Whether other thrusters are to be used from now on.
        """
        if not self._watched:
            return False
        if not self._missing.begun:
            self._missing.begin(measured[TWIST])
            self._at_once.begin(measured[TWIST])
            self._since_s = self._looked_s = self._glanced_s = stamp_s
            self._test_s = stamp_s + WARM_UP_S
            return False
        assert self._per_thrust is not None
        function, h = self._acceleration, duration_s
        if self._alone is None:
            self._current += (1 - math.exp(-h / WATER_S)) * (current_mps - self._current)
        function.inputs[0][:], function.inputs[1][:] = state, self._current
        function.call()
        self._missing.see(h, function.outputs[0], self._per_thrust, force_N, measured[TWIST])
        self._at_once.see(h, function.outputs[0], self._per_thrust, force_N, measured[TWIST])
        if stamp_s - self._glanced_s >= GLANCE_S - 1e-6:
            self._glanced_s = stamp_s
            if self._alone is None and stamp_s >= self._since_s + WARM_UP_S and self._jumped(stamp_s, state):
                return True
        if stamp_s - self._looked_s < LOOK_S - 1e-6:
            return False
        elapsed_s, self._looked_s = stamp_s - self._looked_s, stamp_s
        return self._look(stamp_s, elapsed_s, state)

    def _look(self, stamp_s: float, elapsed_s: float, state: Array) -> bool:
        wrench, r = self._mass @ self._missing.value, matrix(state[ATTITUDE])
        z = self._beyond_usual(wrench, r)
        if self._alone is None:
            wrench[:3] = r @ wrench[:3]
            self._usual_s = min(USUAL_S, self._usual_s + elapsed_s)
            self._usual += elapsed_s / self._usual_s * (wrench - self._usual)
        if stamp_s < self._since_s + WARM_UP_S:
            return False
        self._water.add(state, self._current, z, self._missing.felt_N)
        if self._rhythm(stamp_s, z):
            return True
        return self._alone is None and self._weigh(stamp_s, elapsed_s, z)

    def _beyond_usual(self, wrench: Array, r: Array) -> Array:
        """In sigmas; weight and water push in the world's axes, moments turn with the vehicle."""
        usual = self._usual.copy()
        usual[:3] = r.T @ usual[:3]
        return np.asarray(self._scale * (wrench - usual))

    # -- a large one --------------------------------------------------------------------------------------------------

    def _jumped(self, stamp_s: float, state: Array) -> bool:
        """Whether the missing wrench has just changed as one thruster alone can change it, and no current."""
        sudden, z = self._sudden, self._beyond_usual(self._mass @ self._at_once.value, matrix(state[ATTITUDE]))
        i = sudden.see(z, self.settings.level)
        if i < 0 or i in self.faults or stamp_s < self._excused_s.get(i, -math.inf):
            return False
        change = z - sudden.before
        aside = (1 - sudden.share) * float(change @ change)
        if self._water.left_by_water(self._water_wrench, change) < DRIER * aside:
            return False
        self._take_out(stamp_s, [i], sudden.share)
        return True

    def _weigh(self, stamp_s: float, elapsed_s: float, z: Array) -> bool:
        """Least squares of each thruster's gain, or of the force it is stuck at, over the last second."""
        s, felt, q = self.settings, self._missing.felt_N, z @ self._signatures
        old = math.exp(-elapsed_s / MEMORY_S)
        new = 1 - old
        self._zz, self._weight = old * self._zz + new * float(z @ z), old * self._weight + new
        self._p, self._pu = old * self._p + new * q, old * self._pu + new * q * felt
        self._uu, self._u = old * self._uu + new * felt**2, old * self._u + new * felt
        self._modules.see(old, z, felt)
        module, share_of_module = self._modules.at_once(z, felt, s.level)
        at_once = module >= 0
        if self._zz < s.level and not at_once:
            self._suspect = -1
            return False
        loss = np.clip(-self._pu / np.maximum(self._length2 * self._uu, 1e-9), 0.0, 2.0)
        explained = -2 * loss * self._pu - loss**2 * self._length2 * self._uu
        force = (self._p / self._length2 + self._u) / self._weight
        stuck = (
            2 * force * self._p
            - 2 * self._pu
            - self._length2 * (force**2 * self._weight - 2 * force * self._u + self._uu)
        )
        best = np.where(self._fixed, np.maximum(explained, stuck), 0.0)
        i = int(np.argmax(best))
        next_best = float(np.max(np.delete(best, i))) if len(best) > 1 else 0.0
        found = best[i] > (1 - s.unexplained) * self._zz and best[i] - next_best > APART * self._zz
        missing_N, asked_N = abs(self._p[i]) / self._length2[i], math.sqrt(self._uu[i] * self._weight)
        least = SECOND_LOSS if self.faults else LEAST_LOSS
        found &= loss[i] > least or missing_N > least * asked_N
        share = best[i] / self._zz
        if not at_once:
            module, share_of_module = self._modules.found(self._zz, float(best[i]))
        if module >= 0:  # counted on from the inputs
            i, share, found = len(best) + module, share_of_module, True
        concerned = self._modules.inputs[module].tolist() if module >= 0 else [i]
        suspects = [k for k in concerned if k not in self.faults and stamp_s >= self._excused_s.get(k, -math.inf)]
        if not found or not suspects:
            self._suspect = -1
            return False
        if i != self._suspect:
            self._suspect, self._suspected_s = i, stamp_s
        lasts = at_once or stamp_s - self._suspected_s >= s.lasting_s
        if not lasts or (module < 0 and self._is_water(i)):
            return False
        self._take_out(stamp_s, suspects, min(1.0, share))
        return True

    def _is_water(self, i: int) -> bool:
        """Whether a changed current explains the last looks as well as the suspect does."""
        left = self._water.left_by_thruster(i, self._signatures[:, i])
        return self._water.left_by_water(self._water_wrench) < DRIER * left

    def _water_wrench(self, state: Array, current_mps: Array) -> Array:
        """(6,) of water and weight, in sigmas."""
        function = self._acceleration
        function.inputs[0][:], function.inputs[1][:] = state, current_mps
        function.call()
        return np.asarray(self._scale * (self._mass @ function.outputs[0]))

    def _take_out(self, stamp_s: float, inputs: list[int], certainty: float, found: Kind = "suspect") -> None:
        """One, or what was in use of a module."""
        self.faults.update(dict.fromkeys(inputs, ThrusterFault(found, certainty=certainty)))
        self._flown, self._pattern = [], test_pattern(inputs, self._signatures)
        self._shown_before = 0  # tests of all thrusters that it was weak in
        self._begin_test(stamp_s + SETTLE_S, alone=inputs)
        self._sudden.clear()
        self._forget()

    # -- tests --------------------------------------------------------------------------------------------------------

    def _begin_test(self, stamp_s: float, alone: list[int] | None = None) -> None:
        self._test_s, self._alone, self._rows = stamp_s, alone, []

    def test_N(self, t_s: float, command_N: Array, lower_N: Array, upper_N: Array) -> Array:
        """(n,) to add to a command: forth, back and forth, as far as the limits leave room for both."""
        s, none = self.settings, np.zeros(len(command_N))
        phase = (t_s - self._test_s) / s.test_s
        if not 0 <= phase < 1 or (self._alone is None and s.test_every_s == 0):
            return none
        sign = 1.0 if phase < 0.25 or phase >= 0.75 else -1.0
        if len(self._flown) % 2:  # forth and back in the other order: what bends with time does not count twice
            sign = -sign
        if self._alone is not None:
            return sign * s.test_N * self._pattern
        room_N = np.minimum(upper_N - command_N, command_N - lower_N)[self._opposed != 0]
        push_N = min(s.test_N, float(room_N.min())) if len(room_N) else 0.0
        return sign * max(0.0, push_N) * self._opposed

    def _rhythm(self, stamp_s: float, z: Array) -> bool:
        """Gather a test's answers, and judge when it is over; whether that changes who is used."""
        s = self.settings
        if stamp_s < self._test_s:
            return False
        if stamp_s <= self._test_s + s.test_s + SETTLE_S:
            self._rows.append((stamp_s, z, self._missing.felt_N.copy()))
            return False
        rows, alone, self._rows = self._rows, self._alone, []
        changed = False
        if alone is not None and alone[0] in self.faults:
            if was_flown(rows, self._pattern, s.test_N):  # not with STOP, holding station, measurements missing
                self._flown.append(rows)
                verdict = self._judge(stamp_s, alone)
            else:
                verdict = None
            if verdict is None:
                self._begin_test(stamp_s, alone)
                return False
            self._alone, self._usual_s = None, FIRST_S  # what it leaves is to be expected from now on
            changed = verdict
        elif s.test_every_s > 0 and len(rows) >= FEWEST_ROWS:
            again, self._tested = self._tested, self._tested_loss(stamp_s, rows)
            if self._tested >= 0:
                clear = self._share > TESTED_SHARE
                if self._tested == again or not (clear or self.faults):
                    suspect, self._tested = self._tested, -1
                    self._take_out(stamp_s, [suspect], self._share, kind_of(1 - self._loss) if clear else "suspect")
                    if not clear:  # it will show by itself
                        self._shown_before = 1
                    return True
                self._begin_test(stamp_s)  # once more, at once
                return False
        self._begin_test(stamp_s + max(s.test_every_s - s.test_s - SETTLE_S, 0.0) if s.test_every_s else math.inf)
        return changed

    def _tested_loss(self, stamp_s: float, rows: list[Row]) -> int:
        """The input that a test shows to give too little, or -1."""
        z, felt = varying(rows)
        pu, uu = np.einsum("ki,ki->i", z @ self._signatures, felt), (felt**2).sum(axis=0)
        loss = -pu / np.maximum(self._length2 * uu, 1e-9)
        explained = np.where((loss > 0) & self._fixed & (self._opposed != 0), loss**2 * self._length2 * uu, 0.0)
        i = int(np.argmax(explained))
        self._loss, self._share = (
            float(loss[i]),
            float(explained[i] / max((z**2).sum() - TESTED_NOISE, explained[i], 1e-9)),
        )
        next_best = float(np.max(np.delete(explained, i))) if len(explained) > 1 else 0.0
        clear = explained[i] > max(TESTED_APART * next_best, TESTED_LEVEL)
        excused = stamp_s < self._excused_s.get(i, -math.inf)
        return i if clear and loss[i] > LEAST_LOSS and self._share > TESTED_SUSPECT and not excused else -1

    def _judge(self, stamp_s: float, suspects: list[int]) -> bool | None:
        """What suspects did by themselves: whether they may be used again, or None: another test is needed to tell."""
        s, found = self.settings, self.faults[suspects[0]]
        got = answer(self._flown, self._pattern, self._signatures @ self._pattern)
        sigma = max(got.sigma, ONE_TEST if len(self._flown) == 1 else 0.0)
        kind = kind_of(got.gain)
        faulty = got.gain + SURE * sigma < FAULTY or got.gain + SURER * sigma < NEARLY
        together = len(suspects) > 1
        stuck = kind == "dead" and abs(got.force_N) > s.stuck_N and not together
        kind = "stuck" if stuck else kind
        doubtful = kind_of(got.gain + sigma) != kind_of(got.gain - sigma) and len(self._flown) < KIND_TESTS
        # A module that is not dead as a whole is used again: its thrusters are looked at one by one.
        acquitted = got.gain > SOUND or (together and faulty and not doubtful and kind != "dead")
        if acquitted or (len(self._flown) >= MOST_TESTS and not faulty):
            for i in suspects:
                self.faults.pop(i, None)
                self._excused_s[i] = stamp_s + EXCUSED_S
            return True
        if not faulty or doubtful or (kind == "weak" and len(self._flown) + self._shown_before < 2):
            return None
        gain, force_N = (0.0, got.force_N) if stuck else (got.gain, 0.0)
        for i in suspects:
            self.faults[i] = ThrusterFault(kind, gain, force_N, found.certainty)
        return False

    def acquit(self) -> None:
        """By order: all are used again, and may be suspected anew."""
        self.faults.clear()
        self._excused_s.clear()
        self._alone, self._tested, self._usual_s = None, -1, FIRST_S
        self._forget()
