"""The station in a window of its own."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from shoal.errors import ShoalError
from shoal.fleet.file import load_fleet
from shoal_ros.local_fleets import choose_domain
from shoal_rqt.model import FleetModel
from shoal_rqt.qt import QtCore, QtGui, QtWidgets, application
from shoal_rqt.requests import Link
from shoal_rqt.station import Station
from shoal_rqt.theme import DARK, LIGHT
from shoal_rqt.update_queue import UpdateQueue


class Window(QtWidgets.QMainWindow):
    """Remembers where it was and how it looked."""

    def __init__(self, station: Station) -> None:
        super().__init__()
        self.station = station
        self.setWindowTitle("Shoal: operator's station")
        self.setCentralWidget(station)
        self._settings = QtCore.QSettings("shoal", "operator_station")
        self.resize(1280, 800)
        if isinstance(shape := self._settings.value("geometry"), QtCore.QByteArray):
            self.restoreGeometry(shape)

    def closeEvent(self, event: QtGui.QCloseEvent) -> None:
        self._settings.setValue("geometry", self.saveGeometry())
        self._settings.setValue("theme", self.station.theme.name)
        self.station.close_down()
        super().closeEvent(event)


def make_station(fleet: str = "", domain: int | None = None) -> tuple[Station, Link]:
    """A station with ROS behind it; close the link when done."""
    try:
        from shoal_rqt.ros_link import RosLink
    except ImportError as error:
        raise ShoalError(
            f"ROS 2 cannot be imported ({error}); expected rclpy and the common message packages"
        ) from None
    update_queue = UpdateQueue()
    model = FleetModel(load_fleet(fleet) if fleet else None)
    link = RosLink(update_queue, domain)
    station = Station(model, update_queue, link)
    station.start()
    return station, link


def run(
    fleet: str = "",
    domain: int | None = None,
    dark: bool = False,
    network: bool = False,
    keystore: Path | None = None,
) -> int:
    """Open it and serve it until it is closed; the exit code."""
    chosen = choose_domain(domain, network, keystore)
    app = application()
    app.setStyle("Fusion")
    station, link = make_station(fleet, chosen)
    window = Window(station)
    if dark or window._settings.value("theme") == "dark":
        station.apply_theme(DARK)
    else:
        station.apply_theme(LIGHT)
    signal.signal(signal.SIGINT, lambda *_: window.close())  # the station's timer lets Python see it
    signal.signal(signal.SIGTERM, lambda *_: window.close())
    window.show()
    station.view.above.setFocus()
    try:
        return int(app.exec())
    finally:
        link.close()


def main() -> None:
    """`ros2 run shoal_rqt operator_station`."""
    sys.exit(run())


if __name__ == "__main__":
    main()
