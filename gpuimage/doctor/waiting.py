"""Questions that may never be answered, asked side by side with a limit in time."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

T = TypeVar("T")


def together(tasks: Mapping[str, Callable[[], T]], seconds: float) -> dict[str, T]:
    """Run tasks at once, and return the answers of those that ended in time; the first error among them is raised.

    Nothing waits for the others: they end with the process, so that neither Ctrl-C nor the end is held up. A task
    must therefore leave nothing behind that would need cleaning up.
    """
    answers: queue.SimpleQueue[tuple[str, T | Exception]] = queue.SimpleQueue()

    def answer(name: str, task: Callable[[], T]) -> None:
        try:
            answers.put((name, task()))
        except Exception as error:  # raised again, in the thread that asked
            answers.put((name, error))

    for name, task in tasks.items():
        threading.Thread(target=answer, args=(name, task), daemon=True).start()
    deadline = time.monotonic() + seconds
    found: dict[str, T] = {}
    while len(found) < len(tasks):
        try:
            name, got = answers.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            break
        if isinstance(got, Exception):
            raise got
        found[name] = got
    return found
