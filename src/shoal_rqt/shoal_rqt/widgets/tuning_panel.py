"""Parameters of controllers, guidance and relay, as each node describes them; changed while it runs."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import yaml

from shoal_rqt.model import FleetModel
from shoal_rqt.qt import Qt, QtGui, QtWidgets
from shoal_rqt.requests import Description, Link, ParameterInfo, Reply
from shoal_rqt.theme import LIGHT, Theme, restyle
from shoal_rqt.widgets.choice import Choice
from shoal_rqt.widgets.files import ask_file
from shoal_rqt.widgets.vehicle_card import label

ALL = "all controllers"
VALUE = 1
NOISE = ("use_sim_time", "start_type_description_service", "qos_overrides")


class TuningPanel(QtWidgets.QWidget):
    """A value is sent when it is entered; the node decides, and its refusal is shown."""

    def __init__(self, model: FleetModel, link: Link) -> None:
        super().__init__()
        self._model, self._link, self._theme = model, link, LIGHT
        self._known: dict[str, ParameterInfo] = {}
        self._filling = self._reading = False
        self._chosen = False  # whether the operator has picked a node
        self.target = Choice()
        self.target.setAccessibleName("node to tune")
        self.reload_button, self.save_button = QtWidgets.QPushButton("Read"), QtWidgets.QPushButton("Save…")
        self.reload_button.setToolTip("Ask the node again")
        self.save_button.setToolTip("As a parameter file for --params-file")
        self.tree = QtWidgets.QTreeWidget()
        self.tree.setHeaderLabels(["parameter", "value", "unit", "range"])
        self.tree.setEditTriggers(QtWidgets.QAbstractItemView.EditTrigger.NoEditTriggers)
        self.tree.setIndentation(12)
        self.tree.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        header = self.tree.header()
        header.setStretchLastSection(True)
        for column, width in enumerate((150, 70, 50)):
            header.resizeSection(column, width)
        self.note = label("", "quiet", wrap=True)
        row = QtWidgets.QHBoxLayout()
        row.addWidget(self.target, 1)
        row.addWidget(self.reload_button)
        row.addWidget(self.save_button)
        layout = QtWidgets.QVBoxLayout(self)
        layout.setContentsMargins(0, 4, 4, 0)
        layout.addLayout(row)
        layout.addWidget(self.tree, 1)
        layout.addWidget(self.note)
        self.target.activated.connect(self._choose)
        self.reload_button.clicked.connect(self.read)
        self.save_button.clicked.connect(self._save_dialog)
        self.tree.itemChanged.connect(self._edited)
        self.tree.itemActivated.connect(self._activate)
        self.tree.itemDoubleClicked.connect(self._activate)

    # -- which node ---------------------------------------------------------------------------------------------

    @property
    def nodes(self) -> list[str]:
        """Whom a change goes to."""
        chosen = self.target.currentText()
        if chosen == ALL:
            return sorted(node for node in self._model.nodes if node.endswith("/mpc"))
        return [chosen] if chosen else []

    def refresh(self, theme: Theme) -> None:
        """The list of nodes follows who is there; what is being edited stays."""
        self._theme = theme
        controllers = sorted(node for node in self._model.nodes if node.endswith("/mpc"))
        others = [node for node in ("/guidance", "/relay") if node in self._model.nodes]
        wanted = [*([ALL] if controllers else []), *controllers, *others]
        if wanted != [self.target.itemText(i) for i in range(self.target.count())]:
            before = self.target.currentText()
            self.target.blockSignals(True)
            self.target.clear()
            self.target.addItems(wanted)
            if before in wanted and self._chosen:  # else the controllers, as soon as they are there
                self.target.setCurrentText(before)
            self.target.blockSignals(False)
            if self.target.currentText() != before:
                self._known = {}
        if self.isVisible() and not self._known and not self._reading:
            self.read()  # a node that was just restarted may have missed the first request

    def _choose(self) -> None:
        self._chosen = True
        self.read()

    def showEvent(self, event: QtGui.QShowEvent) -> None:
        if not self._known:
            self.read()
        super().showEvent(event)

    def read(self) -> None:
        """Ask for all of the node's parameters."""
        if self.nodes:
            self._reading = True
            self._show_note("reading …")
            self._link.describe(self.nodes[0], self.show_parameters)

    # -- the tree -----------------------------------------------------------------------------------------------

    def show_parameters(self, description: Description) -> None:
        """Grouped by what stands before the first dot."""
        self._reading = False
        if description.node not in self.nodes:  # another one was chosen meanwhile
            return
        if description.problem:
            self._show_note(description.problem, bad=True)
            return
        self._show_note("")
        self._known = {p.name: p for p in description.parameters if not p.name.startswith(NOISE)}
        self._filling = True
        self.tree.clear()
        groups: dict[str, QtWidgets.QTreeWidgetItem] = {}
        free = [p for p in self._known.values() if not p.read_only]
        fixed = [p for p in self._known.values() if p.read_only]
        for parameter in (*free, *fixed):
            head, _, tail = parameter.name.rpartition(".")
            group = "fixed while it runs" if parameter.read_only else head or "general"
            if group not in groups:
                groups[group] = QtWidgets.QTreeWidgetItem(self.tree, [group])
                groups[group].setExpanded(not parameter.read_only)
                groups[group].setFirstColumnSpanned(True)
            self._add(groups[group], parameter, parameter.name if parameter.read_only else tail or parameter.name)
        self._filling = False

    def _add(self, group: QtWidgets.QTreeWidgetItem, parameter: ParameterInfo, shown: str) -> None:
        item = QtWidgets.QTreeWidgetItem(group, [shown, _text(parameter.value), parameter.unit, parameter.range_text])
        item.setData(0, Qt.ItemDataRole.UserRole, parameter.name)
        for column in range(4):
            item.setToolTip(
                column, f"{parameter.name}: {parameter.description}" if parameter.description else parameter.name
            )
        if not parameter.read_only:
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsEditable)
        else:
            item.setForeground(VALUE, QtGui.QColor(self._theme.quiet))

    def item(self, name: str) -> QtWidgets.QTreeWidgetItem | None:
        """The line of a parameter."""
        for i in range(self.tree.topLevelItemCount()):
            group = self.tree.topLevelItem(i)
            for k in range(group.childCount() if group is not None else 0):
                child = group.child(k) if group is not None else None
                if child is not None and child.data(0, Qt.ItemDataRole.UserRole) == name:
                    return child
        return None

    def _activate(self, item: QtWidgets.QTreeWidgetItem, _: int) -> None:
        if item.flags() & Qt.ItemFlag.ItemIsEditable:
            self.tree.editItem(item, VALUE)

    # -- changing -----------------------------------------------------------------------------------------------

    def _edited(self, item: QtWidgets.QTreeWidgetItem, column: int) -> None:
        name = item.data(0, Qt.ItemDataRole.UserRole)
        if self._filling or column != VALUE or name not in self._known:
            return
        try:
            value = _parsed(item.text(VALUE), self._known[name].value)
        except ValueError:
            kind = type(self._known[name].value).__name__
            self._restore(name, f"{name} = '{item.text(VALUE)}'; expected a value of type {kind}")
            return
        for node in self.nodes:
            self._link.set_parameters(node, {name: value}, partial(self._answered, node, name, value))

    def _answered(self, node: str, name: str, value: Any, reply: Reply) -> None:
        if not reply.ok:
            self._restore(name, f"{node} refuses: {reply.text}")
            return
        known = self._known[name]
        self._known[name] = ParameterInfo(known.name, value, known.description, known.low, known.high, known.read_only)
        self._mark(name, self._theme.good)
        self._show_note(f"{node}: {name} = {_text(value)}")

    def _restore(self, name: str, why: str) -> None:
        self._show_note(why, bad=True)
        if (item := self.item(name)) is not None:
            self._filling = True
            item.setText(VALUE, _text(self._known[name].value))
            self._filling = False
        self._mark(name, self._theme.bad)

    def _mark(self, name: str, colour: str) -> None:
        if (item := self.item(name)) is not None:
            self._filling = True
            item.setForeground(VALUE, QtGui.QColor(colour))
            self._filling = False

    # -- saving -------------------------------------------------------------------------------------------------

    def _save_dialog(self) -> None:
        ask_file(self, "Save parameters", self.save, save_as="parameters.yaml")

    def save(self, path: Path) -> None:
        """What may be tuned, for `--ros-args --params-file`."""
        chosen = self.target.currentText()
        node = "/**/mpc" if chosen == ALL else chosen
        values: dict[str, Any] = {}
        for parameter in self._known.values():
            if not parameter.read_only:
                *parents, last = parameter.name.split(".")
                place = values
                for parent in parents:
                    place = place.setdefault(parent, {})
                place[last] = list(parameter.value) if isinstance(parameter.value, tuple | list) else parameter.value
        text = yaml.safe_dump({node: {"ros__parameters": values}}, sort_keys=False, allow_unicode=True)
        try:
            path.write_text(text, encoding="utf-8")
            self._show_note(f"saved as {path.name}")
        except OSError as error:
            self._show_note(f"{path}: {error.strerror}; expected a place to write to", bad=True)

    def _show_note(self, text: str, bad: bool = False) -> None:
        self.note.setText(text)
        self.note.setObjectName("bad" if bad else "quiet")
        restyle(self.note)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _parsed(text: str, like: Any) -> Any:
    """Of the type the node has declared; ValueError otherwise. Ranges are the node's to refuse."""
    text = text.strip()
    if isinstance(like, bool):
        if text.lower() not in ("true", "false", "on", "off", "yes", "no", "1", "0"):
            raise ValueError
        return text.lower() in ("true", "on", "yes", "1")
    if isinstance(like, int):
        return int(text)
    if isinstance(like, float):
        return float(text.replace(",", "."))
    if isinstance(like, str):
        return text
    return [float(part) for part in text.strip("[]()").replace(";", ",").split(",") if part.strip()]
