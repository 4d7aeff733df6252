"""What is wrong with a file, in sentences: file, key, value, expectation."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

WORDS = {  # for what pydantic says in Python's
    "string": "text",
    "dictionary": "key: value pairs",
    "mapping": "key: value pairs",
    "tuple": "a list",
    "list": "a list",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}
LONGEST = 700  # letters of a sentence: values may be as long as they like
MOST = 5  # sentences; who has more mistakes than that begins with these


def describe(path: Path, error: ValidationError, model: type[BaseModel]) -> str:
    """One line per mistake, e.g. `x.yaml: mass_kg = -3: expected greater than 0`."""
    items = _without_echoes(error.errors(include_url=False))
    lines = [f"{path}: {_named(_sentence(item, model), LONGEST)}" for item in items[:MOST]]
    if len(items) > MOST:
        lines.append(f"{path}: and {len(items) - MOST} more")
    return "\n".join(lines)


def _without_echoes(items: list[Any]) -> list[Any]:
    """A list whose only entry is wrong is also "too short" to pydantic: one mistake, one sentence."""
    inside = {item["loc"][:n] for item in items for n in range(len(item["loc"]))}
    return [item for item in items if item["type"] != "too_short" or item["loc"] not in inside]


def _sentence(item: Any, model: type[BaseModel]) -> str:
    key, kind, context = ".".join(_named(part) for part in item["loc"]), item["type"], item.get("ctx", {})
    if kind == "missing":
        return f"{key}: missing; expected a value"
    value = item["input"]
    shown = f"{key} = {_short(value)}: " if key else ""
    if kind == "extra_forbidden":
        return f"{shown}unknown key; {_known_keys(model, item['loc'])}"
    if kind == "union_tag_invalid":
        tag = context["discriminator"].strip("'")
        return f"{key}.{tag} = {context['tag']!r}: expected one of {context['expected_tags']}"
    if kind in ("too_short", "too_long"):
        word, count = (
            ("least", context.get("min_length")) if kind == "too_short" else ("most", context.get("max_length"))
        )
        return f"{shown}expected at {word} {count} of them"
    if kind == "string_pattern_mismatch":
        return f"{shown}expected {_pattern_in_words(context['pattern'])}"
    if kind == "invalid_key":
        return f"{'.'.join(map(_named, item['loc'][:-1]))}: key {_short(value)}: expected text".removeprefix(": ")
    message = str(item["msg"])
    if isinstance(value, dict) and message.startswith("Value error, "):
        # A check of a whole mapping names its keys itself; of a quantity, its number is what counts.
        shown = f"{key} = {_short(value['value'])}: " if "value" in value else f"{key}: " if key else ""
    message = message.removeprefix("Value error, ")
    if message.startswith("Input should be "):
        message = "expected " + message.removeprefix("Input should be ")
        message = re.sub(r", (unable to parse|got a number).*", "", message)
        message = re.sub(r"a valid (\w+)(?: or .*)?", lambda found: WORDS.get(found[1], found[0]), message)
    elif "expected" not in message:
        message = f"expected something else: {message}"
    return shown + message


def _named(part: str | int, limit: int = 60) -> str:
    text = str(part)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _pattern_in_words(pattern: str) -> str:
    if pattern == r"^[a-z][a-z0-9_]*$":
        return "lower-case letters, digits and _, a letter first"
    if choices := re.fullmatch(r"\^\(([\w|]+)\)\$", pattern):
        return f"one of {choices[1].replace('|', ', ')}"
    return f"text of the form {pattern}"


def _known_keys(model: type[BaseModel], loc: tuple[str | int, ...]) -> str:
    """What was probably meant by an unknown key, else all keys there are in its place."""
    places = [model]
    for part in loc[:-1]:
        fields = [p.model_fields[str(part)] for p in places if str(part) in p.model_fields]
        inner = [m for field in fields for m in _models_in(field.annotation)]
        places = inner or places  # an index, a dictionary's key or a union's tag stays with the same models
    known = sorted({name for p in places for name in p.model_fields})
    close = difflib.get_close_matches(str(loc[-1]), known, n=1)
    return f"expected '{close[0]}'?" if close else f"expected one of {', '.join(known)}"


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)


def _short(value: object, limit: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"
