"""Progress on standard error: a live display on a terminal, plain lines elsewhere, nothing when quiet."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, TextIO

from gpuimage.units import size

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from gpuimage.engine import BuildEvent
    from gpuimage.smoke import Verdict

Mode = Literal["auto", "tty", "plain", "quiet"]
_SIGNS = {"passed": "ok", "failed": "FAILED", "skipped": "skipped"}


class Quiet:
    """Shows nothing."""

    def stage(self, text: str) -> None:
        """Ignore it."""

    def event(self, event: BuildEvent) -> None:
        """Ignore it."""

    def transfer(self, name: str, current: int, total: int | None) -> None:
        """Ignore it."""

    def verdict(self, verdict: Verdict) -> None:
        """Ignore it."""


class Plain:
    """A line for each step that starts, ends or says something: for logs."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._began = time.monotonic()

    def _line(self, text: str) -> None:
        self._stream.write(f"[{time.monotonic() - self._began:6.1f}s] {text}\n")
        self._stream.flush()

    def stage(self, text: str) -> None:
        """Announce a part of the work."""
        self._line(f"== {text}")

    def event(self, event: BuildEvent) -> None:
        """One line for a step, and its output indented."""
        match event.kind:
            case "start":
                self._line(f"-> {_short(event.step)}")
            case "cached":
                self._line(f"ok {_short(event.step)} (cached)")
            case "done":
                self._line(
                    f"ok {_short(event.step)}"
                    + (f" ({event.seconds:.1f}s)" if event.seconds is not None else "")
                )
            case "error":
                self._line(f"FAILED {_short(event.step)}: {_short(event.text)}")
            case "output":
                for text in event.text.splitlines():
                    if text.strip():
                        self._line(f"     {text.rstrip()}")
            case "transfer":
                self.transfer(event.step, event.current or 0, event.total)

    def transfer(self, name: str, current: int, total: int | None) -> None:
        """One line when all bytes have come."""
        if total and current == total:
            self._line(f"     {name}: {size(total)}")

    def verdict(self, verdict: Verdict) -> None:
        """One line a verdict."""
        self._line(f"{_SIGNS[verdict.status]} {verdict.tier} {verdict.probe}: {verdict.reason}")


class Live:
    """Finished steps scroll by; the running ones stand below with their time, bytes and last line of output."""

    def __init__(self, console: Console, title: str) -> None:
        from rich.live import Live as RichLive  # noqa: PLC0415  # rich is loaded only for a terminal

        self._console = console
        self._title = title
        self._began = time.monotonic()
        self._stage = ""
        self._running: dict[str, float] = {}
        self._last: dict[str, str] = {}
        self._bytes: dict[str, tuple[int, int | None]] = {}
        self._verdict = ""
        self._live = RichLive(
            console=console, get_renderable=self._render, refresh_per_second=8, transient=True
        )

    def __enter__(self) -> Live:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def _render(self) -> RenderableType:
        from rich.text import Text  # noqa: PLC0415

        now = time.monotonic()
        text = Text()
        text.append(f"{self._title}  {self._stage}  {now - self._began:.0f}s\n", style="bold")
        for step, since in list(self._running.items())[-6:]:
            text.append(f"  {now - since:5.0f}s  {_short(step, self._console.width - 12)}\n", style="cyan")
            if self._last.get(step):
                text.append(f"          {_short(self._last[step], self._console.width - 14)}\n", style="dim")
        for name, (current, total) in list(self._bytes.items())[-4:]:
            whole = f" of {size(total)}" if total else ""
            text.append(f"          {_short(name, 40)} {size(current)}{whole}\n", style="dim")
        if self._verdict:
            text.append(f"          {_short(self._verdict, self._console.width - 12)}\n", style="dim")
        return text

    def stage(self, text: str) -> None:
        """Change the headline."""
        self._stage = text
        self._bytes.clear()

    def event(self, event: BuildEvent) -> None:
        """Move a step between running and finished."""
        match event.kind:
            case "start":
                self._running.setdefault(event.step, time.monotonic())
            case "output":
                text = event.text.strip()
                if text:
                    self._last[event.step] = text.splitlines()[-1]
            case "transfer":
                self.transfer(event.step, event.current or 0, event.total)
            case "done" | "cached" | "error":
                self._running.pop(event.step, None)
                self._bytes.clear()
                seconds = f" {event.seconds:.1f}s" if event.seconds else ""
                sign, style = {"done": ("✓", "green"), "cached": ("✓", "dim"), "error": ("✗", "red")}[
                    event.kind
                ]
                note = " cached" if event.kind == "cached" else seconds
                self._console.print(
                    f"{sign} {_short(event.step, self._console.width - 14)}{note}",
                    style=style,
                    markup=False,
                    highlight=False,
                )

    def transfer(self, name: str, current: int, total: int | None) -> None:
        """Show how far something has come."""
        self._bytes[name] = (current, total)
        if total and current == total:
            self._bytes.pop(name, None)

    def verdict(self, verdict: Verdict) -> None:
        """Show the last verdict below; the report prints them all."""
        self._verdict = f"{verdict.tier} {verdict.probe}: {verdict.reason}"


def _short(text: str, width: int = 140) -> str:
    from gpuimage.engine import step_text  # noqa: PLC0415  # a command that only reads files needs no engine

    line = step_text(text)
    return line if len(line) <= width else line[: max(1, width - 1)] + "…"


@contextmanager
def progress_display(
    mode: Mode | str, title: str, stream: TextIO | None = None
) -> Iterator[Quiet | Plain | Live]:
    """A display for the time of a build; `auto` is live on a terminal and plain elsewhere."""
    target = stream or sys.stderr
    if mode == "quiet":
        yield Quiet()
    elif mode == "plain" or (mode == "auto" and not target.isatty()):
        yield Plain(target)
    else:
        from rich.console import Console  # noqa: PLC0415

        with Live(Console(file=target, force_terminal=mode == "tty" or None), title) as live:
            yield live
