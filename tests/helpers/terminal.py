"""A screen to read back what a command shows."""

import io


class Terminal(io.StringIO):
    """Text that says of itself that it is a terminal, so that bars are drawn."""

    def isatty(self):
        return True
