"""Outlines in metres of the view: (east, north) from above, (east, depth) from the side."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal_rqt.qt import QtCore, QtGui

Array = NDArray[np.float64]
# Forward and starboard, in units of length and width.
HULL = np.array([[0.62, 0.0], [0.34, 0.5], [-0.5, 0.5], [-0.5, -0.5], [0.34, -0.5]])
CROSS = np.array([[-0.45, -0.45], [0.45, 0.45], [-0.45, 0.45], [0.45, -0.45]])


def seen_from_above(points: Array, yaw_rad: float, size_m: Array, east_m: float, north_m: float) -> Array:
    """Body points (K,2) forward, starboard, in units of length and width `size_m` → (K,2) east, north."""
    c, s = np.cos(yaw_rad), np.sin(yaw_rad)
    forward, starboard = (size_m * points).T
    return np.stack([east_m + s * forward + c * starboard, north_m + c * forward - s * starboard], axis=1)


def silhouette(points: Array) -> Array:
    """Convex hull of (K,2), counter-clockwise: how a box looks that is turned any way."""
    ordered = sorted(map(tuple, points.tolist()))

    def half(given: list[tuple[float, ...]]) -> list[tuple[float, ...]]:
        kept: list[tuple[float, ...]] = []
        for p in given:
            while len(kept) > 1 and _turn(kept[-2], kept[-1], p) <= 0:
                kept.pop()
            kept.append(p)
        return kept[:-1]

    return np.array(half(ordered) + half(ordered[::-1]))


def _turn(a: tuple[float, ...], b: tuple[float, ...], c: tuple[float, ...]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def outline(points: Array, closed: bool = True) -> QtGui.QPainterPath:
    """Through (K,2)."""
    path = QtGui.QPainterPath()
    path.addPolygon(QtGui.QPolygonF([QtCore.QPointF(float(x), float(y)) for x, y in points]))
    if closed:
        path.closeSubpath()
    return path


def strokes(points: Array) -> QtGui.QPainterPath:
    """Each two points (2K,2) a line."""
    path = QtGui.QPainterPath()
    for (x0, y0), (x1, y1) in zip(points[0::2], points[1::2], strict=True):
        path.moveTo(float(x0), float(y0))
        path.lineTo(float(x1), float(y1))
    return path


def wedge(yaw_rad: float, half_deg: float, reach_m: float, east_m: float, north_m: float) -> QtGui.QPainterPath:
    """A sight cone from above."""
    bearings = yaw_rad + np.radians(np.linspace(-half_deg, half_deg, 25))
    rim = np.stack([east_m + reach_m * np.sin(bearings), north_m + reach_m * np.cos(bearings)], axis=1)
    return outline(np.vstack([[east_m, north_m], rim]))


def circle(radius: float, x: float, y: float) -> QtGui.QPainterPath:
    """In the view's units."""
    path = QtGui.QPainterPath()
    path.addEllipse(QtCore.QPointF(x, y), radius, radius)
    return path


def box(width: float, height: float, x: float, y: float) -> QtGui.QPainterPath:
    """Around a point."""
    path = QtGui.QPainterPath()
    path.addRect(QtCore.QRectF(x - width / 2, y - height / 2, width, height))
    return path
