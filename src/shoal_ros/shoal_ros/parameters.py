"""Pydantic settings as ROS parameters: types, ranges and descriptions come from the model, and so does every refusal.

A field `limits.distance_soft_m` of the model is the parameter of that name. A change is tried on a copy of the whole
model first, so that rules between fields hold too, and several changes in one request count as one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter

from shoal.errors import ShoalError

M = TypeVar("M", bound=BaseModel)
TYPES = {bool: Parameter.Type.BOOL, int: Parameter.Type.INTEGER, float: Parameter.Type.DOUBLE}


@dataclass(frozen=True)
class Leaf:
    """One number, switch or word of a model."""

    name: str
    field: FieldInfo
    value: Any

    @property
    def type(self) -> Parameter.Type:
        """Lists of pairs travel as one flat list of numbers."""
        kind = self.field.annotation
        if get_origin(kind) is tuple:
            return Parameter.Type.DOUBLE_ARRAY
        return TYPES.get(kind, Parameter.Type.STRING)  # type: ignore[arg-type]

    @property
    def description(self) -> str:
        """The field's own, and the choices of a word."""
        choices = get_args(self.field.annotation) if get_origin(self.field.annotation) is Literal else ()
        parts = [self.field.description or "", "one of: " + ", ".join(map(str, choices)) if choices else ""]
        return "; ".join(part for part in parts if part)

    def descriptor(self, read_only: bool) -> ParameterDescriptor:
        """With the range, where the field has one. An open end (gt, lt) is left to the model to refuse."""
        descriptor = ParameterDescriptor(
            name=self.name, type=self.type.value, description=self.description, read_only=read_only
        )
        low, high = _bounds(self.field)
        if low is None and high is None:
            return descriptor
        if self.type is Parameter.Type.DOUBLE:
            big = sys.float_info.max
            ends = (-big if low is None else float(low), big if high is None else float(high))
            descriptor.floating_point_range = [FloatingPointRange(from_value=ends[0], to_value=ends[1])]
        elif self.type is Parameter.Type.INTEGER:
            whole = (-(2**62) if low is None else int(low), 2**62 if high is None else int(high))
            descriptor.integer_range = [IntegerRange(from_value=whole[0], to_value=whole[1], step=1)]
        return descriptor


def leaves(model: BaseModel, prefix: str = "") -> Iterator[Leaf]:
    """All fields, those of models inside included."""
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            yield from leaves(value, f"{prefix}{name}.")
        else:
            yield Leaf(prefix + name, field, value)


def with_changes(model: M, changes: Mapping[str, Any]) -> M:
    """A validated copy with some leaves replaced; pydantic's ValidationError when it does not fit."""
    data = model.model_dump()
    for name, value in changes.items():
        *parents, last = name.split(".")
        place = data
        for parent in parents:
            place = place[parent]
        place[last] = value
    return type(model).model_validate(data)


class SettingsParameters(Generic[M]):
    """Declares a model's leaves on a node and keeps `value` in step with what is set at run time."""

    def __init__(
        self,
        node: Node,
        model: M,
        prefix: str = "",
        fixed: Collection[str] | bool = (),
        changed: Callable[[M], None] | None = None,
        check: Callable[[M], None] | None = None,
    ) -> None:
        """`fixed`: leaves that are read-only, or True for all. `changed` gets the new model after each change; a
        ShoalError of `check` refuses it before.
        """
        self._prefix, self._changed, self._more = prefix, changed, check
        self._leaves = {prefix + leaf.name: leaf for leaf in leaves(model)}
        for name, leaf in self._leaves.items():
            read_only = fixed is True or (fixed is not False and leaf.name in fixed)
            descriptor = leaf.descriptor(read_only)
            descriptor.name = name
            _declare(node, name, leaf, descriptor)
        given = {name: node.get_parameter_or(name).value for name in self._leaves}
        try:
            self.value: M = with_changes(model, self._own(given))
        except ValidationError as error:
            raise ShoalError(f"parameters of {node.get_fully_qualified_name()}: {reason(error)}") from None
        node.add_on_set_parameters_callback(self._check)
        node.add_post_set_parameters_callback(self._apply)

    def _own(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Those of our parameters among `values`, under their names in the model."""
        own = {}
        for name, value in values.items():
            if (leaf := self._leaves.get(name)) is not None:
                own[leaf.name] = _pairs(value) if leaf.type is Parameter.Type.DOUBLE_ARRAY else value
        return own

    def _check(self, parameters: list[Parameter]) -> SetParametersResult:
        try:
            own = self._own({p.name: p.value for p in parameters})
            changed = with_changes(self.value, own)
            if own and self._more is not None:
                self._more(changed)
        except (ValidationError, ShoalError) as error:
            return SetParametersResult(successful=False, reason=reason(error))
        return SetParametersResult(successful=True)

    def _apply(self, parameters: list[Parameter]) -> None:
        own = self._own({p.name: p.value for p in parameters})
        if own:
            self.value = with_changes(self.value, own)
            if self._changed is not None:
                self._changed(self.value)


def declare(
    node: Node, name: str, default: Any, description: str, read_only: bool = True, low: Any = None, high: Any = None
) -> Any:
    """One parameter that belongs to no model; its value. Read-only by default."""
    field = FieldInfo(annotation=type(default), description=description)
    field.metadata = [Ge(low)] * (low is not None) + [Le(high)] * (high is not None)
    leaf = Leaf(name, field, default)
    _declare(node, name, leaf, leaf.descriptor(read_only))
    return node.get_parameter(name).value


def reason(error: Exception) -> str:
    """Pydantic's complaint as one sentence with key, value and expectation."""
    if not isinstance(error, ValidationError):
        return str(error)
    item = error.errors(include_url=False)[0]
    message = str(item["msg"]).removeprefix("Value error, ").replace("Input should be", "expected")
    key = ".".join(str(part) for part in item["loc"])
    return f"{key} = {item['input']!r}: {message}" if key and not isinstance(item["input"], dict) else message


def _declare(node: Node, name: str, leaf: Leaf, descriptor: ParameterDescriptor) -> None:
    value = [float(v) for pair in leaf.value for v in pair] if leaf.type is Parameter.Type.DOUBLE_ARRAY else leaf.value
    try:
        # An empty list has no type in rclpy: declare the type alone.
        node.declare_parameter(name, leaf.type if isinstance(value, list) and not value else value, descriptor)
    except (InvalidParameterTypeException, InvalidParameterValueException) as error:
        raise ShoalError(f"parameters of {node.get_fully_qualified_name()}: {error}") from None


def _bounds(field: FieldInfo) -> tuple[Any, Any]:
    low = high = None
    for rule in field.metadata:
        if isinstance(rule, Ge | Gt):
            low = rule.ge if isinstance(rule, Ge) else rule.gt
        elif isinstance(rule, Le | Lt):
            high = rule.le if isinstance(rule, Le) else rule.lt
    return low, high


def _pairs(flat: Any) -> list[tuple[float, float]]:
    numbers = list(flat or ())
    if len(numbers) % 2:
        raise ShoalError(f"a list of {len(numbers)} numbers; expected pairs")
    return list(zip(numbers[0::2], numbers[1::2], strict=True))
