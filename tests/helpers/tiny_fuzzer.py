"""A fuzzer of twelve inputs, each of which ends in another way: ``python -m tests.helpers.tiny_fuzzer``."""

import os
import sys

from tools import fuzzing


def ready(number):
    """Even ones are accepted, odd ones refused, but for some; all are accepted where MENDED is set."""

    def read():
        if "MENDED" in os.environ:
            return True
        if number == 2:
            raise KeyError("an error that is not documented")
        if number == 5:
            raise fuzzing.UndocumentedError("not what is documented")
        if number == 7:
            os._exit(9)
        if number == 8:
            return len(b"x" * (1024 * fuzzing.MEMORY + 2**24)) > 0
        if number == 10:
            while True:
                pass
        return number % 2 == 0

    return fuzzing.Input("even" if number % 2 == 0 else "odd", [{"number": number}], read)


if __name__ == "__main__":  # in its own process only: other tests read this module too
    fuzzing.SECONDS = 1
    fuzzing.read_inputs(int(sys.argv[2]), int(sys.argv[3]), 3, ready)
