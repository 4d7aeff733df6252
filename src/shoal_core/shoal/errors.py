"""The one exception that users see: a sentence that says what is wrong and what was expected."""


class ShoalError(Exception):
    """Bad input. The message names the file or topic, the key, the value and the expectation."""


class ShoalWarning(UserWarning):
    """Odd but usable input, told in the same way."""
