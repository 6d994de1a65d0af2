"""Ctrl-C in the middle of work."""


def interrupted_at(call, function, calls=None):
    """The function, but Ctrl-C at one of its calls; every call adds an entry to ``calls``."""
    calls = [] if calls is None else calls

    def wrapped(*words, **more):
        calls.append(1)
        if len(calls) == call:
            raise KeyboardInterrupt
        return function(*words, **more)

    return wrapped
