"""What a user is told in sentences: errors, which end the work, and warnings, with which it goes on."""

from __future__ import annotations

import warnings


class LociError(ValueError):
    """Bad input, told in a sentence that says what was wrong, where, and what to do. The command line prints it without
    a traceback and exits with 2."""


class LociWarning(UserWarning):
    """Something a careful user should know about a result that was made all the same. The command line prints it."""


def warn(sentence: str) -> None:
    """Say a sentence to whoever uses the package; Python shows it once."""
    warnings.warn(sentence, LociWarning, stacklevel=3)
