"""Services and parameters without waiting: each request gets exactly one reply, if only that none came."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from rcl_interfaces.msg import ParameterDescriptor
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters, SetParametersAtomically
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from std_srvs.srv import Trigger

from shoal_rqt.requests import Description, ParameterInfo, Reply

REPLY_TIMEOUT_S = 8.0  # of wall time; a node that has just been started needs a few seconds to be found
UNBOUNDED = 1e17  # ranges beyond it are open ends


@dataclass(eq=False)
class _Pending:
    kind: Any
    name: str
    request: Any
    answered: Callable[[Any], None]  # the response, or None
    until_s: float
    future: Any = None


class ServiceCalls:
    """In the ROS thread only; `poll` moves everything on."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._clients: dict[str, Any] = {}
        self._pending: list[_Pending] = []

    def call(self, kind: Any, name: str, request: Any, answered: Callable[[Any], None]) -> None:
        """`answered` gets the response, or None after a while."""
        # Sent by the next `poll`: `answered` may call again, and `poll` must not run inside itself.
        self._pending.append(_Pending(kind, name, request, answered, time.monotonic() + REPLY_TIMEOUT_S))

    def poll(self) -> None:
        """Send what can be sent, hand out what has come, give up what is overdue."""
        for one in list(self._pending):
            if one.future is None:
                client = self._clients.get(one.name)
                if client is None:
                    client = self._clients[one.name] = self._node.create_client(one.kind, one.name)
                if client.service_is_ready():
                    one.future = client.call_async(one.request)
            if one.future is not None and one.future.done():
                self._pending.remove(one)
                one.answered(one.future.result())
            elif time.monotonic() > one.until_s:
                self._pending.remove(one)
                if one.future is not None:
                    self._clients[one.name].remove_pending_request(one.future)
                one.answered(None)

    # -- requests of the station ----------------------------------------------------------------------------------

    def trigger(self, service: str, done: Callable[[Reply], None]) -> None:
        """std_srvs/Trigger."""

        def answered(response: Any) -> None:
            done(_no_reply(service) if response is None else Reply(bool(response.success), str(response.message)))

        self.call(Trigger, service, Trigger.Request(), answered)

    def set_parameters(self, node: str, values: Mapping[str, Any], done: Callable[[Reply], None]) -> None:
        """All or none."""
        given = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]

        def answered(response: Any) -> None:
            if response is None:
                done(_no_reply(node))
            else:
                done(Reply(bool(response.result.successful), str(response.result.reason)))

        request = SetParametersAtomically.Request(parameters=given)
        self.call(SetParametersAtomically, f"{node}/set_parameters_atomically", request, answered)

    def get_parameters(self, node: str, names: list[str], done: Callable[[dict[str, Any]], None]) -> None:
        """Those that the node has; none at all when it does not reply."""

        def answered(response: Any) -> None:
            if response is not None and not response.values and len(names) > 1:
                self._get_each(node, names, done)
                return
            values = [] if response is None else [parameter_value_to_python(v) for v in response.values]
            done({n: v for n, v in zip(names, values, strict=False) if v is not None})

        self.call(GetParameters, f"{node}/get_parameters", GetParameters.Request(names=names), answered)

    def _get_each(self, node: str, names: list[str], done: Callable[[dict[str, Any]], None]) -> None:
        """rclpy returns nothing at all when one of them has no value: ask for one after the other."""
        found: dict[str, Any] = {}
        left = set(names)

        def one(name: str, values: dict[str, Any]) -> None:
            found.update(values)
            left.discard(name)
            if not left:
                done(found)

        for name in names:
            self.get_parameters(node, [name], partial(one, name))

    def describe(self, node: str, done: Callable[[Description], None]) -> None:
        """List, describe, read: three calls, one reply."""
        nothing = Description(node, (), _no_reply(node).text)

        def listed(response: Any) -> None:
            if response is None:
                done(nothing)
                return
            names = sorted(response.result.names)
            request = DescribeParameters.Request(names=names)
            self.call(DescribeParameters, f"{node}/describe_parameters", request, lambda r: described(names, r))

        def described(names: list[str], response: Any) -> None:
            if response is None:
                done(nothing)
                return

            def read(values: dict[str, Any]) -> None:
                found = (_info(d, values[n]) for n, d in zip(names, response.descriptors, strict=True) if n in values)
                done(Description(node, tuple(found)) if values else nothing)

            self.get_parameters(node, names, read)

        self.call(ListParameters, f"{node}/list_parameters", ListParameters.Request(), listed)


def _no_reply(who: str) -> Reply:
    return Reply(False, f"{who} did not reply in {REPLY_TIMEOUT_S:g} s: is it running?")


def _info(descriptor: ParameterDescriptor, value: Any) -> ParameterInfo:
    ranges = [*descriptor.floating_point_range, *descriptor.integer_range]
    low = high = None
    if ranges:
        low, high = float(ranges[0].from_value), float(ranges[0].to_value)
        low, high = (low if abs(low) < UNBOUNDED else None), (high if abs(high) < UNBOUNDED else None)
    if hasattr(value, "tolist"):
        value = value.tolist()
    return ParameterInfo(descriptor.name, value, descriptor.description, low, high, bool(descriptor.read_only))
