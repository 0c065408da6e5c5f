"""Fixtures of the whole suite: a clean environment, the lab, and engines that live in it."""

from __future__ import annotations

import contextlib
import io
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from xdist.scheduler import LoadScopeScheduling

from gpuimage import cli
from tests import lab as lab_module
from tests.lab import Lab, LabError, daemon, packages, podman
from tests.lab.home import Home, Use
from tests.lab.shell import which

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

    from gpuimage.engine import Engine
    from tests.pages import ShowPage

# What on a developer's or a CI machine would change what the tests see.
_SCRUBBED = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM_PROGRAM", "DOCKER_HOST", "DOCKER_CONTEXT")
_SCRUBBED_PREFIXES = ("GITHUB_", "XDG_", "CONTAINERS_", "BUILDAH_", "DOCKER_", "GPUIMAGE_")
_KEPT = {"GPUIMAGE_LAB", "GPUIMAGE_REQUIRE_ENGINE"}

_ENGINE_FIXTURES = {"lab", "docker_engine", "podman_engine", "buildah_engine", "engine"}


@cache
def _needs_engine(path: Path) -> bool:
    """Whether a file holds tests that use the lab's engines, by the fixtures that it names."""
    return (
        re.search(r"\b(lab: Lab|(docker|podman|buildah)_engine)\b", path.read_text(encoding="utf-8"))
        is not None
    )


class _ByFile(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Where the suite runs in several processes, a file's tests stay together, so that no fixture is made twice.

    What uses one of the lab's storages stays in one process, because its images have the same names: docker has one, podman and
    buildah share the other.
    """

    def _split_scope(self, nodeid: str) -> str:
        file, _, test = nodeid.partition("::")
        if not _needs_engine(self.config.rootpath / file):
            return file
        return "podman" if re.search("podman|buildah", test) else "docker"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> _ByFile:
    """Distribute tests so."""
    return _ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what uses an engine; skip what needs a GPU where there is none."""
    has_gpu = Path("/dev/nvidia0").exists()
    for item in items:
        if _ENGINE_FIXTURES & set(getattr(item, "fixturenames", ())):
            assert _needs_engine(item.path), f"{item.path.name} is not seen to use an engine"
            item.add_marker(pytest.mark.engine)
        if item.get_closest_marker("gpu") and not has_gpu:
            item.add_marker(pytest.mark.skip(reason="no NVIDIA GPU on this machine (/dev/nvidia0)"))


@pytest.fixture(scope="session", autouse=True)
def _clean_environment() -> Iterator[None]:
    """Take out of the environment what would change results from one machine to the next."""
    # A suite that runs in the background is handed an ignored SIGINT, and would hand it down to what it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with pytest.MonkeyPatch.context() as patch:
        for name in tuple(os.environ):
            scrubbed = name in _SCRUBBED or name.startswith(_SCRUBBED_PREFIXES)
            if scrubbed and name not in _KEPT:
                patch.delenv(name)
        patch.setenv("GPUIMAGE_DATA", "")  # no rows of this machine's user
        patch.setenv("GPUIMAGE_TODAY", "2026-12-01")  # the tables' own day: they never get old under a test
        yield


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty directory of the test's own, and make it the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


Command = Callable[..., tuple[int, str, str]]
"""A command of ours: arguments, and `stdin`, to exit code, standard output and standard error."""


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Return a function that runs the command line in this process."""

    def run(*arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["gpuimage", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        out, err = capsys.readouterr()
        assert isinstance(stopped.value.code, int)
        return stopped.value.code, out, err

    return run


def _engine_required() -> bool:
    return os.environ.get("CI") == "true" or os.environ.get("GPUIMAGE_REQUIRE_ENGINE") == "1"


def _cannot(reason: str) -> NoReturn:
    """Skip with the reason; fail instead where a missing engine must not pass for a green run."""
    if _engine_required():
        pytest.fail(f"no engine, and this run requires one: {reason}", pytrace=False)
    pytest.skip(f"no engine: {reason}")


@pytest.fixture(scope="session")
def lab(_clean_environment: None) -> Iterator[Lab]:
    """Start the lab on first use; at the end stop it, unless `make demo` or another run still needs it."""
    home = Home.find()
    with contextlib.closing(Use(home)) as use:
        try:
            running = lab_module.up(home)
        except LabError as error:
            _cannot(str(error))
        with pytest.MonkeyPatch.context() as patch:
            for name, value in running.env.items():
                patch.setenv(name, value)
            patch.setenv("DOCKER_CONFIG", str(home.docker / "client"))  # no credential helpers of the user
            yield running
        if use.is_last() and not home.keep.exists():
            lab_module.down(home, sweep=True)


def _engine(name: str, host: str | None = None) -> Engine:
    # Here, not above: a run without engine tests does not wait for the docker SDK.
    from gpuimage.engine import select_engine  # noqa: PLC0415
    from gpuimage.errors import UnavailableError  # noqa: PLC0415

    try:
        return select_engine(name, host=host)
    except UnavailableError as error:
        _cannot(str(error))


@pytest.fixture(scope="session")
def docker_engine(lab: Lab) -> Engine:
    """Return Docker, spoken to by its Engine API, on the lab's private daemon."""
    if not daemon.answers(lab.home.socket):
        _cannot("the lab's Docker daemon has stopped")
    return _engine("docker", lab.docker_host)


@pytest.fixture(scope="session")
def _podman_tools(lab: Lab) -> None:
    try:
        podman.ensure()
    except LabError as error:
        _cannot(str(error))
    if packages.missing(packages.PODMAN_TOOLS):
        _cannot("podman and buildah are not installed")


@pytest.fixture(scope="session")
def podman_engine(lab: Lab, _podman_tools: None) -> Engine:
    """Return podman, on storage of the lab's own."""
    return _engine("podman")


@pytest.fixture(scope="session")
def buildah_engine(lab: Lab, _podman_tools: None) -> Engine:
    """Return buildah, on storage of the lab's own."""
    return _engine("buildah")


@pytest.fixture(scope="session")
def chromium() -> str:
    """Return the path of Debian's Chromium, which is installed on first use."""
    try:
        packages.ensure(packages.PAGE_TOOLS)
    except LabError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(f"no Chromium, and this run requires one: {error}", pytrace=False)
        pytest.skip(f"no Chromium: {error}")
    return str(which("chromium"))


# Of one module alone: while Playwright runs, nothing else in this thread may start an event loop.
@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    """Return a browser."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  # most runs need none

    from tests.pages import QUIET  # noqa: PLC0415

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=QUIET)
        yield started
        started.close()


@pytest.fixture
def show_page(browser: Browser, tmp_path: Path) -> Iterator[ShowPage]:
    """Return what opens a page; at the end no page may have complained, or asked for anything but itself."""
    complaints: list[str] = []
    asked: list[str] = []
    opened: list[BrowserContext] = []

    def listen(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            complaints.append(message.text)

    def show(html: str, **options: Any) -> Page:
        file = tmp_path / f"{len(opened)}.html"
        file.write_text(html, encoding="utf-8")
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        opened.append(context)
        page = context.new_page()
        page.on("console", listen)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(file.as_uri())
        page.wait_for_selector("[data-done]", state="attached")
        return page

    yield show
    expected = [(tmp_path / f"{number}.html").as_uri() for number in range(len(opened))]
    for context in opened:
        context.close()
    assert (complaints, asked) == ([], expected)
