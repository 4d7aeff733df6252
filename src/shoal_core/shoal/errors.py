"""The one exception that users see: a sentence that says what is wrong and what was expected."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager


class ShoalError(Exception):
    """Bad input. The message names the file or topic, the key, the value and the expectation."""

    def __init__(self, message: str = "") -> None:
        super().__init__(re.sub(r"\S{400,}", lambda found: f"{found[0][:100]}…", message))  # nobody reads 5000 digits


class ShoalWarning(UserWarning):
    """Odd but usable input, worded in the same way."""


@contextmanager
def in_file(file: object) -> Iterator[None]:
    """What goes wrong inside is the file's fault: its name begins the sentence, unless it does already."""
    try:
        yield
    except ShoalError as error:
        if str(error).startswith(str(file)):
            raise
        raise ShoalError(f"{file}: {error}") from None
