"""What tests of defects share with those of readers."""

from tests.io.conftest import as_npy, command, memory, read

__all__ = ["as_npy", "command", "memory", "read"]
