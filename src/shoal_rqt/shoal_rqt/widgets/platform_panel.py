"""A platform of vessels: how far it is, blueprints to choose, draw and save, and what it is to become."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

from shoal.config.files import config_roots, list_configs
from shoal.errors import ShoalError
from shoal.platform.blueprint import Cell, load_blueprint
from shoal.platform.orders import PART, blueprint_json
from shoal_rqt.blueprint_draft import BlueprintDraft, kinds_like
from shoal_rqt.model import FleetModel
from shoal_rqt.qt import QtWidgets
from shoal_rqt.requests import Link
from shoal_rqt.theme import restyle
from shoal_rqt.widgets.blueprint_grid import BlueprintGrid
from shoal_rqt.widgets.choice import Choice
from shoal_rqt.widgets.files import ask_file
from shoal_rqt.widgets.rows import button, row
from shoal_rqt.widgets.vehicle_card import label


@lru_cache(maxsize=64)
def blueprint_size(name: str) -> int:
    """Cells of one of this computer's; 0 of one that cannot be read."""
    try:
        return len(load_blueprint(name).cells)
    except ShoalError:
        return 0


class PlatformPanel(QtWidgets.QWidget):
    """The planner has a thread of its own: a hard drawing takes it a second, and STOP must not wait for that."""

    def __init__(self, model: FleetModel, link: Link) -> None:
        super().__init__()
        self._model, self._link = model, link
        self.draft = BlueprintDraft()
        self.grid = BlueprintGrid(self.draft)
        self.state, self.verdict = label("", "quiet", wrap=True), label("", "quiet", wrap=True)
        self.problem = label("", "quiet", wrap=True)
        self.blueprints, self.kinds = Choice(), Choice()
        for box, name in ((self.blueprints, "blueprint to begin with"), (self.kinds, "vehicle that fills a cell")):
            box.setAccessibleName(name)
            box.setToolTip(name.capitalize())
            box.setMinimumWidth(70)
            box.setSizePolicy(QtWidgets.QSizePolicy.Policy.Expanding, QtWidgets.QSizePolicy.Policy.Fixed)
        self.clear = button("Clear", "An empty grid")
        self.save_button = button("Save…", "As a blueprint file")
        self.reshape = button("Reshape", "The finished platform is reshaped into what is drawn", main=True)
        self.part = button("Part", "The finished platform is taken apart")
        self.blueprints.currentTextChanged.connect(self.begin_with)
        self.kinds.currentTextChanged.connect(lambda kind: setattr(self.draft, "kind", kind or self.draft.kind))
        self.clear.clicked.connect(self.draft.clear)
        self.save_button.clicked.connect(self.save_dialog)
        self.reshape.clicked.connect(self.send_drawn)
        self.part.clicked.connect(lambda: self.send(PART))
        self._worker = ThreadPoolExecutor(1, "blueprint")
        self._asked: object = None  # what the planner was last asked
        self._answer: Future[tuple[bool, str]] | None = None
        self.buildable: bool | None = None  # None: not known yet
        self._build()
        self.draft.watchers.append(self.refresh_verdict)
        self._offer()

    def _build(self) -> None:
        layout = QtWidgets.QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(label("Platform", "title"))
        layout.addWidget(self.state)
        layout.addLayout(row(self.blueprints, self.kinds, self.clear, self.save_button))
        middle = QtWidgets.QHBoxLayout()
        middle.addStretch(1)
        middle.addWidget(self.grid)
        middle.addStretch(1)
        layout.addLayout(middle)
        layout.addWidget(self.verdict)
        layout.addLayout(row(self.part, self.reshape))
        layout.addWidget(self.problem)

    # -- drawing ------------------------------------------------------------------------------------------------

    def begin_with(self, name: str) -> None:
        """One of this computer's blueprints."""
        if not name:
            return
        try:
            self.draft.take(load_blueprint(name))
            self._say("")
        except ShoalError as error:
            self._say(str(error), bad=True)
        self._offer_kinds()

    def save_dialog(self) -> None:
        """Proposes the folder in which a name is enough."""
        folder = next((root / "blueprints" for root in config_roots() if (root / "blueprints").is_dir()), Path())
        ask_file(self, "Save blueprint", self.save, save_as=str(folder / "my_platform.yaml"))

    def save(self, path: Path) -> None:
        """Show why not, if it fails."""
        try:
            self.draft.save(path)
            blueprint_size.cache_clear()
            self._say(f"saved as {path.name}")
        except ShoalError as error:
            self._say(str(error), bad=True)

    # -- requests -----------------------------------------------------------------------------------------------

    def send_drawn(self) -> None:
        """By its name while it is as in its file, else as it is drawn: the fleet's computer may not have the file."""
        try:
            made = self.draft.blueprint()
        except ShoalError as error:
            self._say(str(error), bad=True)
            return
        known = not self.draft.edited and made.name in list_configs("blueprints")
        self.send(made.name if known else blueprint_json(made), made.name)

    def send(self, order: str, name: str = "") -> None:
        """To the fleet manager, which takes it once the last order is done."""
        refusal, platform = self._model.stop.refusal, self._model.structures.platform
        if not refusal and (platform is None or not platform.over):
            refusal = (
                f"platform '{name or order}': the last order is not done yet; expected a platform that is finished"
            )
        self._say(refusal or f"ordered: {name or order}", bad=bool(refusal))
        if not refusal:
            self._link.send_platform(order)

    # -- as it is now -------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """State, choices, and the planner's sentence."""
        platform = self._model.structures.platform
        self.state.setText("No fleet manager." if platform is None else platform.sentence())
        self._offer()
        self.refresh_verdict()
        self.part.setEnabled(platform is not None and platform.over)
        self.reshape.setEnabled(platform is not None and platform.over and self.buildable is True)

    def _offer(self) -> None:
        platform = self._model.structures.platform
        count = 0 if platform is None else len(platform.cells)
        names = [n for n in list_configs("blueprints") if blueprint_size(n) and count in (0, blueprint_size(n))]
        if [self.blueprints.itemText(i) for i in range(self.blueprints.count())] == names:
            return
        untouched = not self.draft.edited or not self.draft.cells
        self.blueprints.blockSignals(True)
        self.blueprints.clear()
        self.blueprints.addItems(names)
        if self.draft.name in names:
            self.blueprints.setCurrentText(self.draft.name)
        self.blueprints.blockSignals(False)
        if untouched and self.blueprints.currentText() != self.draft.name:
            self.begin_with(self.blueprints.currentText())

    def _offer_kinds(self) -> None:
        kinds = list(kinds_like(self.draft.kind))
        if set(kinds) != {self.kinds.itemText(i) for i in range(self.kinds.count())}:
            self.kinds.clear()
            self.kinds.addItems(kinds)
        self.kinds.setCurrentText(self.draft.kind)

    def refresh_verdict(self) -> None:
        """Ask the planner when the drawing or the platform is another one; show what it has answered."""
        now = self._filled()
        asked = (tuple(self.draft.cells.items()), self.draft.name, now)
        if asked != self._asked:
            self._asked, self.buildable = asked, None
            self._show("checking …", bad=False)
            of = dict(now) if all(kind for _, kind in now) else {cell for cell, _ in now}
            self._answer = self._worker.submit(self.draft.snapshot().verdict, of)
        if self._answer is not None and self._answer.done():
            self.buildable, sentence = self._answer.result()
            self._answer = None
            changed = " (not saved)" if self.draft.edited and self.draft.cells else ""
            self._show(f"{sentence}{changed}", bad=not self.buildable)

    def _filled(self) -> tuple[tuple[Cell, str], ...]:
        """Cells of the platform that is there, with their vessels' types where the fleet file is known."""
        platform, fleet = self._model.structures.platform, self._model.fleet
        if platform is None or not platform.over:
            return ()
        types = {} if fleet is None else {member.name: member.type for member in fleet.vehicles}
        return tuple((cell, types.get(name, "")) for name, cell in platform.cells.items())

    def wait_for_planner(self, wall_s: float = 30.0) -> str:
        """Its sentence on what is drawn now; for pictures and tests, the window itself never waits."""
        self.refresh()
        if self._answer is not None:
            self._answer.exception(wall_s)
        self.refresh()
        return self.verdict.text()

    def close_down(self) -> None:
        """Before the window goes."""
        self._worker.shutdown(wait=False, cancel_futures=True)

    def _show(self, text: str, bad: bool) -> None:
        _put(self.verdict, text, bad)

    def _say(self, text: str, bad: bool = False) -> None:
        _put(self.problem, text, bad)


def _put(where: QtWidgets.QLabel, text: str, bad: bool) -> None:
    where.setText(text)
    if where.objectName() != (look := "bad" if bad else "quiet"):
        where.setObjectName(look)
        restyle(where)
