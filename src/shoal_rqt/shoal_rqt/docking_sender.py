"""An operator's docking orders on their way: a best effort that is repeated, as long as somebody has not heard."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from std_msgs.msg import String

from shoal.messages import topics
from shoal.messages.docking import DockingOrder
from shoal.recordings.docking_json import order_to_json
from shoal_rqt import updates
from shoal_rqt.subscriptions import FleetSubscriber
from shoal_rqt.update_queue import UpdateQueue

REPEAT_S = 0.2  # of wall time
GIVEN_UP_S = 5.0


class DockingSender:
    """In the ROS thread only."""

    def __init__(self, publisher: Any, subscriber: FleetSubscriber, update_queue: UpdateQueue) -> None:
        self._publisher, self._subscriber, self._updates = publisher, subscriber, update_queue
        self._order: DockingOrder | None = None
        self._began_s = self._sent_s = -np.inf

    def send(self, order: DockingOrder, wall_s: float) -> None:
        """With a higher number than any order so far, so that it counts."""
        heard = self._subscriber
        newest = max([heard.docking_counter, *heard.docking_heard.values()])
        newest = newest if self._order is None else max(newest, self._order.counter)
        self._order, self._began_s, self._sent_s = replace(order, counter=newest + 1), wall_s, -np.inf
        self.repeat(wall_s)

    def end(self) -> None:
        """Do not repeat it: STOP has ended what it was about."""
        self._began_s = -np.inf

    def repeat(self, wall_s: float) -> None:
        """Until both have heard of it, or of a newer one."""
        order, heard = self._order, self._subscriber.docking_heard
        if order is None or wall_s - self._sent_s < REPEAT_S:
            return
        deaf = [name for name in (order.leader, order.follower) if heard.get(name, 0) < order.counter]
        if self._subscriber.docking_counter > order.counter or not deaf:
            self._began_s = -np.inf
        if wall_s - self._began_s > GIVEN_UP_S:
            if deaf and np.isfinite(self._began_s):
                words = f"{topics.SET_DOCKING.name}: {', '.join(deaf)} did not answer; expected a controller that docks"
                self._updates.put(updates.EventUpdate(1, words))
            self._began_s = -np.inf
            return
        self._sent_s = wall_s
        self._publisher.publish(String(data=order_to_json(order)))
