"""Two ports brought together or apart, a platform reshaped or parted, and who is joined to whom."""

from __future__ import annotations

from typing import Literal

from shoal.messages.docking import DockingOrder
from shoal.vehicles.ports import Port, fits
from shoal_rqt.model import FleetModel
from shoal_rqt.qt import Qt, QtWidgets
from shoal_rqt.requests import Link
from shoal_rqt.structures import docking_sentence
from shoal_rqt.theme import restyle
from shoal_rqt.widgets.choice import Choice
from shoal_rqt.widgets.platform_panel import PlatformPanel
from shoal_rqt.widgets.rows import button, row
from shoal_rqt.widgets.vehicle_card import label


class JoinPanel(QtWidgets.QScrollArea):
    """Nothing moves before a button is pressed; STOP ends a docking and freezes a platform."""

    def __init__(self, model: FleetModel, link: Link) -> None:
        super().__init__()
        self._model, self._link = model, link
        self.leader, self.leader_port, self.follower, self.follower_port = (Choice() for _ in range(4))
        for box, name in (
            (self.leader, "leading vehicle"), (self.leader_port, "its port"),
            (self.follower, "following vehicle"), (self.follower_port, "its port"),
        ):  # fmt: skip
            box.setAccessibleName(name)
            box.setMinimumWidth(70)
            box.setSizePolicy(QtWidgets.QSizePolicy.Policy.Expanding, QtWidgets.QSizePolicy.Policy.Fixed)
        self.dock = button("Dock", "The follower comes to the leader's port", main=True)
        self.undock = button("Undock", "The latch opens, and the follower leaves")
        self.abort = button("Abort", "Back to the stand-off; pressed once more, both are let go")
        self.phase, self.problem = label("", "title", wrap=True), label("", "quiet", wrap=True)
        self.groups = label("", "quiet", wrap=True)
        self.platform = PlatformPanel(model, link)
        self.dock.clicked.connect(lambda: self.order("dock"))
        self.undock.clicked.connect(lambda: self.order("undock"))
        self.abort.clicked.connect(lambda: self.order("cancel"))
        self.leader.currentTextChanged.connect(lambda _: self._offer_ports(self.leader, self.leader_port))
        self.follower.currentTextChanged.connect(lambda _: self._offer_ports(self.follower, self.follower_port))
        self._names: tuple[str, ...] | None = None  # not offered yet
        self._build()

    def _build(self) -> None:
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        inside = QtWidgets.QWidget()
        layout = QtWidgets.QVBoxLayout(inside)
        layout.setContentsMargins(0, 4, 4, 0)
        layout.addWidget(label("Docking", "title"))
        self.docking = QtWidgets.QWidget()
        docking = QtWidgets.QVBoxLayout(self.docking)
        docking.setContentsMargins(0, 0, 0, 0)
        grid = QtWidgets.QGridLayout()
        rows = (("leads", self.leader, self.leader_port), ("follows", self.follower, self.follower_port))
        for number, (word, vehicle, port) in enumerate(rows):
            grid.addWidget(label(word, "quiet"), number, 0)
            grid.addWidget(vehicle, number, 1)
            grid.addWidget(label("at port", "quiet"), number, 2)
            grid.addWidget(port, number, 3)
        docking.addLayout(grid)
        docking.addLayout(row(self.abort, self.undock, self.dock))
        layout.addWidget(self.docking)
        layout.addWidget(self.phase)
        layout.addWidget(self.problem)
        layout.addWidget(label("Joined", "title"))
        layout.addWidget(self.groups)
        layout.addWidget(self.platform)
        layout.addStretch(1)
        self.setWidget(inside)

    # -- requests ----------------------------------------------------------------------------------------------

    def order(self, action: Literal["dock", "undock", "cancel"]) -> None:
        """As chosen; what is under way is aborted whatever is chosen."""
        running = self._model.structures.order
        if action == "cancel" and running is not None:
            leader, a, follower, b = running.leader, running.leader_port, running.follower, running.follower_port
        else:
            leader, a = self.leader.currentText(), self.leader_port.currentText()
            follower, b = self.follower.currentText(), self.follower_port.currentText()
        refusal = "" if action == "cancel" else self._model.stop.refusal or self._misfit(leader, a, follower, b)
        self._say(refusal, bad=bool(refusal))
        if not refusal:
            self._link.send_docking(DockingOrder(0, action, leader, a, follower, b))

    def _misfit(self, leader: str, leader_port: str, follower: str, follower_port: str) -> str:
        if not leader or leader == follower:
            return f"'{leader}' with itself; expected two vehicles" if leader else "no vehicle with ports is known"
        a, b = self._port(leader, leader_port), self._port(follower, follower_port)
        if a is None or b is None:
            return f"{follower if a else leader} has no port that is known; expected one of its vehicle file"
        if not fits(a, b):
            return (
                f"port '{a.name}' is {a.kind}, '{b.name}' {b.kind}; expected two androgynous ones, or plug and socket"
            )
        return ""

    # -- as it is now ------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Choices, phases, groups."""
        structures = self._model.structures
        self._offer_vehicles()
        told = structures.feedback()
        text = "" if told is None or structures.order is None else (
            f"{structures.order.follower} at {structures.order.leader}: {docking_sentence(told)}"
        )  # fmt: skip
        self.phase.setText(text or ("No docking yet." if self._names else "No vehicle with ports is known."))
        if told is not None and told.refused:
            self._say(f"refused: {told.refused}", bad=True)
        self.abort.setEnabled(structures.docking_now)
        for choice in (self.dock, self.undock):
            choice.setEnabled(len(self._names or ()) > 1)
        lines = [f"{' + '.join(group)}: one body" for group in structures.groups]
        lines += [f"  {j.a} – {j.b}" for j in structures.joining.joints] if len(lines) else []
        shapes = {v.name: v.shape for v in self._model.vehicles.values()}
        lines += [f"{n}: assembly of {len(s.modules)} hulls" for n, s in shapes.items() if s is not None and s.joined]
        self.groups.setText("\n".join(lines) or "Nobody is joined.")
        self.platform.refresh()

    def _offer_vehicles(self) -> None:
        names = tuple(v.name for v in self._model.vehicles.values() if v.shape is not None and v.shape.ports)
        if names == self._names:
            return
        self._names = names
        self.docking.setVisible(bool(names))  # else there is nothing to choose
        for place, box in enumerate((self.leader, self.follower)):
            before = box.currentText()
            box.clear()
            box.addItems(names)
            box.setCurrentText(before if before in names else names[min(place, len(names) - 1)] if names else "")
        for index, (box, ports) in enumerate(((self.leader, self.leader_port), (self.follower, self.follower_port))):
            self._offer_ports(box, ports, first=("stern", "bow")[index])

    def _offer_ports(self, vehicle: QtWidgets.QComboBox, box: QtWidgets.QComboBox, first: str = "") -> None:
        known = self._model.vehicles.get(vehicle.currentText())
        names = [p.name for p in known.shape.ports] if known is not None and known.shape is not None else []
        before = first or box.currentText()
        box.clear()
        box.addItems(names)
        if before in names:
            box.setCurrentText(before)

    def _port(self, vehicle: str, name: str) -> Port | None:
        known = self._model.vehicles.get(vehicle)
        ports = () if known is None or known.shape is None else known.shape.ports
        return next((p for p in ports if p.name == name), None)

    def _say(self, text: str, bad: bool) -> None:
        self.problem.setText(text)
        if self.problem.objectName() != (look := "bad" if bad else "quiet"):
            self.problem.setObjectName(look)
            restyle(self.problem)
