"""Names of vehicles that lie close together stand below each other, not on top of each other."""

from __future__ import annotations

from collections.abc import Sequence

import pyqtgraph as pg

from shoal_rqt.qt import QtCore


def spread(labels: Sequence[pg.TextItem], view: pg.PlotWidget) -> None:
    """From left to right each moves down until it covers none before it; one that would leave the view is hidden."""
    box = view.getPlotItem().getViewBox()
    bottom, placed = box.sceneBoundingRect().bottom(), list[QtCore.QRectF]()
    shown = [(box.mapViewToScene(label.pos()), label) for label in labels if label.isVisible()]
    for at, label in sorted(shown, key=lambda one: one[0].x()):
        size = label.textItem.boundingRect()
        rect = QtCore.QRectF(at.x() - size.width() / 2, at.y(), size.width(), size.height() - 4)  # Qt's margin
        while (hit := next((other for other in placed if other.intersects(rect)), None)) is not None:
            rect.moveTop(hit.bottom() + 0.5)
        if rect.bottom() > bottom and rect.top() > at.y():
            label.setVisible(False)
            continue
        placed.append(rect)
        if rect.top() > at.y():
            label.setPos(box.mapSceneToView(QtCore.QPointF(at.x(), rect.top())))
