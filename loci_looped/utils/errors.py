"""The error a user can act on: its text is a sentence that says what was wrong, where, and what to do."""


class LociError(ValueError):
    """Bad input, told in a sentence. The command line prints it without a traceback and exits with 2."""
