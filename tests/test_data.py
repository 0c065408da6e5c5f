"""The tables as users see them: counts and age, the rows behind an answer, and a user's own rows merged in."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuimage import tables
from gpuimage.compat import Question, compat
from gpuimage.facts.base import read_base
from gpuimage.plan import plan
from gpuimage.render import render
from gpuimage.spec import load_spec
from gpuimage.tables import DataError, Unknown, _load
from gpuimage.tables._laws import SHAPES
from gpuimage.tables._own_files import own_table
from gpuimage.tables._sections import SECTIONS, key_of, named, rows_at
from tests.conftest import Command
from tests.own import DATA, forget, only_rows, row_of, shipped
from tests.readme import compare, shown

PLACES = [(table, section) for table, sections in SECTIONS.items() for section in sections]


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Path]]:
    """Return a function that writes own rows of a table and lets the tables be read anew."""
    folder = tmp_path / "own"
    folder.mkdir()
    monkeypatch.setenv("GPUIMAGE_DATA", str(folder))

    def write(table: str, content: object = None, **sections: list[dict[str, Any]]) -> Path:
        path = folder / f"{table}.json"
        text = content if isinstance(content, str) else json.dumps(content or sections, indent=1)
        path.write_text(text, encoding="utf-8")
        forget()
        return path

    forget()
    yield write
    forget()


def newer_torch(**changes: object) -> dict[str, Any]:
    row = row_of("torch_wheels", "releases", torch="2.15.0")
    return {**row, "torch": "2.99.0", **changes}


# Keys, merging.


@pytest.mark.parametrize(("table", "section"), PLACES, ids=lambda part: part)
def test_the_key_of_a_section_tells_its_shipped_rows_apart(table: str, section: str) -> None:
    rows = rows_at(shipped(table), section)
    fields = SECTIONS[table][section]
    assert rows
    assert len({key_of(row, fields) for row in rows}) == len(rows)
    assert all(named(row, fields) for row in rows)


def test_every_table_but_the_edition_can_have_own_rows() -> None:
    assert set(SECTIONS) == {path.stem for path in DATA.glob("*.json")} - {"edition"}


def some_of(table: str, chosen: random.Random) -> dict[str, Any]:
    """Own rows that are some of the shipped ones."""
    part = only_rows(table, shipped(table))
    share = chosen.choice([0.02, 0.3, 1.0])
    for section in SECTIONS[table]:
        rows = rows_at(part, section)
        rows[:] = [row for row in rows if chosen.random() < share]
    return part


def unmarked(value: object) -> str:
    """A value as text, without the words that name the user's files, and with one kind of quotes."""
    return re.sub(r"( \(|, |)user's \w+\.json\)?", "", repr(value).replace("\\'", "'")).replace('"', "'")


@settings(max_examples=60, deadline=None)
@given(chosen=st.randoms(use_true_random=True), table=st.sampled_from(sorted(SHAPES.keys() - {"edition"})))
def test_shipped_rows_given_as_own_ones_change_nothing_but_the_source(
    chosen: random.Random, table: str
) -> None:
    taken = own_table(Path(f"/home/user/{table}.json"), json.dumps(some_of(table, chosen)))
    assert unmarked(_load.held(table, taken)) == unmarked(_load.held(table, None))


def test_answers_are_the_same_with_every_shipped_row_as_an_own_one(own: Callable[..., Path]) -> None:
    def verdicts(cuda: str) -> list[tables.DriverVerdict]:
        return [tables.driver_verdict(cuda, str(branch)) for branch in tables.driver_branches()]

    def bytes_of(fact: tables.SizeFact | Unknown) -> object:
        return fact and (fact.low, fact.high, fact.basis, fact.verified)

    def answers() -> list[object]:
        return [
            [(v.outcome, v.because, v.package) for cuda in tables.cuda_minors() for v in verdicts(cuda)],
            [tables.torch_release(version) for version in tables.torch_versions()],
            [tables.gpu(one.name) for one in tables.gpus()],
            [tables.nvidia_wheel(row["name"]) for row in shipped("nvidia_wheels")["wheels"]],
            [tables.wheel(row["name"]) for row in shipped("wheel_needs")["wheels"]],
            [tables.cuda_tag(cuda, "runtime", cudnn=True) for cuda in tables.cuda_minors()],
            [bytes_of(tables.base_size(flavor, "12.8")) for flavor in ("base", "runtime", "devel", "python-slim")],
            [bytes_of(tables.torch_set_bytes("2.9.1", "cu128")), bytes_of(tables.pip_cache_bytes())],
            [read_base(name) for name in ("python:3.12-slim", "nvidia/cuda:12.8.1-base-ubuntu24.04", "debian:12")],
            [error.id for error in tables.known_errors()],
        ]  # fmt: skip

    before = answers()
    for table in SECTIONS:
        own(table, only_rows(table, shipped(table)))
    after = answers()
    assert tables.edition().startswith("2026-12-01+user.")
    assert "user's torch_wheels.json" in repr(after)
    for old, new in zip(before, after, strict=True):
        assert unmarked(new) == unmarked(old)


def test_a_row_of_the_same_key_takes_the_shipped_ones_place(own: Callable[..., Path]) -> None:
    row = {
        **row_of("gpus", "gpus", name="A10G"),
        "memory_gb": [48.0],
        "source": "our rack",
        "aliases": ["our A10G"],
    }
    own("gpus", gpus=[row])
    found = tables.gpu("our a10g")
    assert found
    assert (found.name, found.memory_gb, found.source) == ("A10G", (48.0,), "our rack (user's gpus.json)")
    assert len(tables.gpus()) == 193


def test_a_new_torch_goes_together_with_gpus_and_stands_last(own: Callable[..., Path]) -> None:
    archs = [{"variant": "cu132", "x86_64": "9.0", "ptx": False, "source": "our build", "verified": True}]
    own("torch_wheels", releases=[newer_torch(cuda_variants=["cu132"], arch_lists=archs)])
    assert tables.torch_versions()[-1] == "2.99.0"
    gpu = tables.gpu("A10G")
    assert gpu
    [check] = [
        check
        for check in compat(Question(torch="2.99", gpus=(gpu,))).checks
        if check.about.startswith("A10G (8.6) with torch")
    ]
    assert (check.outcome, check.source) == ("refused", "our build (user's torch_wheels.json)")


def test_a_new_cuda_is_sorted_in_between_and_its_laws_hold(own: Callable[..., Path]) -> None:
    minor = {**row_of("cuda_releases", "minors", cuda="13.5"), "cuda": "14.0"}
    release = {**row_of("cuda_releases", "releases", cuda="13.5.0"), "cuda": "14.0.0", "minor": "14.0"}
    point = {**row_of("cuda_releases", "releases", cuda="12.6.3"), "cuda": "12.6.4"}
    own("cuda_releases", releases=[release, point], minors=[minor])
    assert tables.cuda_minors()[-2:] == ("13.5", "14.0")
    found = tables.cuda_release("12.6")
    assert found
    assert found.version == "12.6.4"


def test_a_newer_wheel_of_nvidia_becomes_the_newest(own: Callable[..., Path]) -> None:
    row = {"name": "nvidia_cublas", "version": "13.11.0.1", "cuda_major": 13, "wheel_bytes": 7}
    own("nvidia_wheels", wheels=[row])
    found, old = tables.nvidia_wheel("nvidia-cublas"), tables.nvidia_wheel("nvidia-cublas", "13.10.0.20")
    assert found
    assert old
    assert (found.version, found.wheel_bytes, found.newest, old.newest) == ("13.11.0.1", 7, True, False)
    assert (found.source, found.verified) == ("user's nvidia_wheels.json", False)


def test_an_own_need_of_a_wheel_comes_before_the_general_shipped_one(own: Callable[..., Path]) -> None:
    row = {
        **row_of("wheel_needs", "wheels", name="onnxruntime-gpu"),
        "versions": ">=1.99",
        "extras": [],
        "cuda_major": 14,
    }
    own("wheel_needs", wheels=[row])
    newer, older = tables.wheel("onnxruntime-gpu", "1.99.1"), tables.wheel("onnxruntime-gpu", "1.31.1")
    assert newer
    assert older
    assert (newer.cuda_major, older.cuda_major) == (14, 13)


def test_an_image_of_the_company_is_known_by_an_own_row(own: Callable[..., Path]) -> None:
    name = "registry.corp/gpu:12.8.1-devel-ubuntu24.04"
    assert read_base(name).kind == "other"
    row = row_of("known_bases", "bases", repository="(.+/)?nvidia/cuda")
    own("known_bases", bases=[{**row, "repository": r"registry\.corp/gpu"}])
    found = read_base(name)
    assert (found.kind, found.cuda, found.has_nvcc) == ("cuda", "12.8.1", True)


# The edition, the plan, the Dockerfile.


def test_edition_plan_and_dockerfile_say_that_own_rows_took_part(
    own: Callable[..., Path], tmp_path: Path
) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        'image: a/b:1\npython: "3.12"\ngpus: [H100]\nwheels: [torch==2.15.0]\napp: {command: [python3]}\n'
    )
    shipped_plan = plan(load_spec(spec))
    assert tables.edition() == "2026-12-01"
    assert "tables" not in {decision.topic for decision in shipped_plan.decisions}
    own("torch_wheels", releases=[newer_torch()])
    edition = tables.edition()
    assert re.fullmatch(r"2026-12-01\+user\.[0-9a-f]{8}", edition)
    made = plan(load_spec(spec))
    [said] = [decision for decision in made.decisions if decision.topic == "tables"]
    assert (said.choice, "1 of torch_wheels.json" in said.because) == (edition, True)
    assert f"data of {edition}" in render(made).dockerfile
    own("torch_wheels", json.dumps({"releases": [newer_torch()]}))  # the same rows, written otherwise
    assert tables.edition() == edition
    own("torch_wheels", releases=[newer_torch(requires_python=">=3.13")])
    assert tables.edition() != edition


def test_a_file_without_rows_is_as_good_as_none(own: Callable[..., Path]) -> None:
    own("torch_wheels", {"schema": "none yet", "releases": []})
    assert tables.edition() == "2026-12-01"


# Where own rows are looked for.


def asked(env: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("GPUIMAGE_", "XDG_"))}
    return subprocess.run(
        [sys.executable, "-m", "gpuimage", "data", *arguments],
        capture_output=True, text=True, check=False, env={**clean, **env},
    )  # fmt: skip


def test_own_rows_are_found_by_home_xdg_and_variable_the_later_ones_first(tmp_path: Path) -> None:
    def put(folder: str, version: str) -> str:
        target = tmp_path / folder
        target.mkdir(parents=True)
        (target / "torch_wheels.json").write_text(json.dumps({"releases": [newer_torch(torch=version)]}))
        return version

    home, xdg = put("home/.config/gpuimage/data", "2.90.0"), put("xdg/gpuimage/data", "2.91.0")
    named_by = put("pipeline", "2.92.0")
    env = {"HOME": str(tmp_path / "home")}

    def known() -> str:
        done = asked(env, "show", "torch", "9.9")
        assert done.returncode == 1
        return done.stderr.partition("know 1.7.0 to ")[2].split()[0]

    assert known() == home
    env["XDG_CONFIG_HOME"] = "not/absolute"  # the base directory specification: as if it were not set
    assert known() == home
    env["XDG_CONFIG_HOME"] = str(tmp_path / "xdg")
    assert known() == xdg
    env["GPUIMAGE_DATA"] = str(tmp_path / "pipeline")
    assert known() == named_by
    env["GPUIMAGE_DATA"] = ""
    assert known() == "2.15.0"


def test_a_variable_that_names_no_directory_is_an_error(tmp_path: Path) -> None:
    done = asked({"GPUIMAGE_DATA": str(tmp_path / "gone")})
    assert (done.returncode, done.stdout) == (2, "")
    assert "GPUIMAGE_DATA names" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_own_rows_nothing_is_read_but_one_look_at_the_directory(tmp_path: Path) -> None:
    code = (
        "import sys; sys.addaudithook(lambda name, args: name in ('open', 'os.listdir', 'os.scandir') and print(args[0]));"
        "from gpuimage.tables import torch_release; torch_release('2.9.1');"
        "print('files' if 'gpuimage.tables._own_files' in sys.modules else 'clean')"
    )
    env = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path)}
    del env["GPUIMAGE_DATA"]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert str(tmp_path) not in done.stdout
    assert done.stdout.split()[-1] == "clean"


# Files that cannot be taken.

BAD: dict[str, tuple[str, object, str]] = {
    "empty": ("gpus", "", r"gpus\.json:1:1: this is no JSON"),
    "cut off": ("gpus", '{\n "gpus": [\n', r"gpus\.json:\d:\d+: this is no JSON"),
    "a list": ("gpus", "[]", r'own rows stand in an object: \{"gpus": \[\.\.\.\]\}'),
    "a number": ("gpus", "7", "own rows stand in an object"),
    "not a number": ("gpus", '{"gpus": [{"name": NaN}]}', "NaN is no number"),
    "a name twice": ("gpus", '{"gpus": [], "gpus": []}', "'gpus' stands twice"),
    "half a character": ("gpus", '{"gpus": [{"name": "\\ud800"}]}', "half a surrogate pair"),
    "nested deeply": ("gpus", "[" * 200_000, r"no JSON|nested too deeply"),
    "a long number": ("gpus", '{"gpus": [' + "9" * 5000 + "]}", "this is no JSON"),
    "an unknown table": ("gpu", "{}", r"there is no table gpu \(did you mean gpus"),
    "the edition": ("edition", "{}", "there is no table edition"),
    "an unknown section": ("gpus", {"gpu": []}, r"gpus takes no own gpu \(did you mean gpus\?\)"),
    "what is no row": ("cuda_releases", {"rules": ["x"]}, "rows can be added to releases, minors"),
    "no list": ("gpus", {"gpus": {}}, "gpus must be a list of rows"),
    "a row that is text": ("gpus", {"gpus": ["A10G"]}, r"gpus\.json:3: row 1 of gpus: a row must be an object"),
    "a field missing": ("gpus", {"gpus": [{"name": "X1"}]}, r"gpus\.json:3: row 1 of gpus \(X1\): .*missing required field `compute_capability`"),
    "a wrong type": ("gpus", {"gpus": [{**row_of("gpus", "gpus", name="L4"), "aliases": "L4"}]}, r"row 1 of gpus \(L4\): expected `array`, got `str` - at `aliases`"),
    "a wrong form": ("gpus", {"gpus": [{**row_of("gpus", "gpus", name="L4"), "compute_capability": "sm_89"}]}, r"matching regex"),
    "a row twice": ("gpus", {"gpus": [row_of("gpus", "gpus", name="L4")] * 2}, r"row 2 of gpus: L4 stands here twice"),
    "a version of torch that is none": ("torch_wheels", {"releases": [newer_torch(torch="2.99")]}, "matching regex"),
    "specifiers that are none": ("wheel_needs", {"wheels": [{**row_of("wheel_needs", "wheels", name="flash-attn"), "versions": "new"}]}, "matching regex"),
    "a law broken": ("torch_wheels", {"releases": [newer_torch(cuda_variants=["cu999"], cuda_variants_verified=True)]}, r"torch_wheels\.json:3: these rows break a law of the tables: torch 2\.99\.0: the default variant"),
    "a nested law": ("base_images", {"nvidia_cuda": {"releases": [{**shipped("base_images")["nvidia_cuda"]["releases"][9], "os_flavours": {"ubuntu24.04": []}}]}}, r"base_images\.json:4: .*impossible flavours"),
    "no regular expression": ("errors", {"errors": [{**row_of("errors", "errors", id="no-device"), "regex": "("}]}, "no regular expression"),
    "an untyped row": ("known_bases", {"bases": [{"repository": "x"}]}, "missing required field"),
    "an untyped value": ("lint_costs", {"costs": [{"what": "x", "low_mb": "1", "high_mb": 2, "basis": "y"}]}, "expected number - at `low_mb`"),
    "an untyped pattern": ("known_bases", {"bases": [{**row_of("known_bases", "bases", kind="conda"), "repository": "(x"}]}, "no regular expression - at `repository`"),
}  # fmt: skip


@pytest.mark.parametrize(("table", "content", "says"), BAD.values(), ids=BAD)
def test_a_file_that_cannot_be_taken_is_an_error_with_its_place(
    own: Callable[..., Path], command: Command, table: str, content: object, says: str
) -> None:
    path = own(table, content) if content else own(table, "")
    code, out, err = command("data")
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {path}")
    assert re.search(says, err), err


def test_what_is_no_readable_file_is_an_error(own: Callable[..., Path], tmp_path: Path) -> None:
    folder = own("gpus", "{}").parent
    for make, says in (
        (lambda path: path.mkdir(), "no file"),
        (os.mkfifo, "no file"),
        (lambda path: path.symlink_to(path), "no file|cannot be read"),
        (lambda path: path.write_bytes(b"\xff\xfe\x00gpus"), "must be UTF-8"),
        (lambda path: path.write_bytes(b"\x00" * 10), "no JSON"),
        (lambda path: path.write_text(" " * 16_000_001), "more than 16000000 bytes"),
    ):
        path = folder / "sizes.json"
        make(path)
        forget()
        with pytest.raises(DataError, match=says) as raised:
            tables.edition()
        assert raised.value.where is not None
        assert raised.value.where.path == path
        path.rmdir() if path.is_dir() else path.unlink()


def test_other_files_of_the_directory_do_not_matter(own: Callable[..., Path]) -> None:
    folder = own("gpus", {"gpus": []}).parent
    (folder / "README.txt").write_text("notes")
    (folder / ".gpus.json.x1").write_bytes(b"\xff")
    forget()
    assert tables.edition() == "2026-12-01"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["gpus", "releases", "name", "torch", "verified", "x"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(table=st.sampled_from(sorted(SECTIONS)), content=st.text(max_size=40) | JSON.map(json.dumps))
def test_any_text_is_taken_or_refused_with_its_file(table: str, content: str) -> None:
    path = Path(f"/home/user/{table}.json")
    try:
        taken = own_table(path, content)
    except DataError as error:
        place = error.where
    else:
        assert _load.merged(table, taken)
        return
    assert place is not None
    assert place.path == path


@given(st.lists(st.integers(0, 4), max_size=4), st.integers(0, 3))
def test_the_line_named_is_the_one_on_which_the_row_begins(before: list[int], breaks: int) -> None:
    rows = [
        {**row_of("gpus", "gpus", name="L4"), "name": f"card {n}", "note": ["\n"] * size}
        for n, size in enumerate(before)
    ]
    good = [
        json.dumps({**row, "note": ""}, indent=size or None) for row, size in zip(rows, before, strict=True)
    ]
    text = '{"schema": ["{", "\\"["],' + "\n" * breaks + '"gpus": [' + "".join(f"{one}, \n" for one in good)
    with pytest.raises(DataError) as raised:
        own_table(Path("gpus.json"), text + '{"name": "bad"}]}')
    assert raised.value.where is not None
    assert raised.value.where.line == text.count("\n") + 1


# Age.

EDITION = date(2026, 12, 1)


@pytest.mark.parametrize(("days", "old"), [(-40, False), (0, False), (120, False), (121, True), (900, True)])
def test_the_tables_are_old_after_120_days(days: int, old: bool) -> None:
    on = EDITION + timedelta(days)
    assert tables.age(on) == max(0, days)
    assert bool(tables.staleness(on)) == old
    assert tables.overview(on).stale == old


def test_no_pause_between_torch_releases_but_one_was_longer_than_that() -> None:
    days = sorted(
        date.fromisoformat(row["pypi_linux_x86_64"]["uploaded"])
        for row in shipped("torch_wheels")["releases"]
    )
    pauses = [(later - earlier).days for earlier, later in pairwise(days)]
    assert [pause for pause in pauses if pause > 120] == [149]


@pytest.mark.parametrize("today", ["2027-03-31", "2027-04-01"])
def test_commands_say_once_that_the_tables_are_old_and_answer_the_same(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, today: str
) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        'image: a/b:1\npython: "3.12"\ngpus: [H100]\nwheels: [torch==2.15.0]\napp: {command: [python3]}\n'
    )
    (tmp_path / "Dockerfile").write_text("FROM nvidia/cuda:12.8.1-devel-ubuntu24.04\n")
    for arguments in (
        ("plan", "--offline", str(spec)),
        ("render", str(spec)),
        ("compat", "--cuda", "13.0", "--driver", "570"),
        ("lint", str(tmp_path)),
        ("lint", "--format", "json", str(tmp_path)),
    ):
        fresh = command(*arguments)
        assert "days old" not in fresh[2]
        monkeypatch.setenv("GPUIMAGE_TODAY", today)
        code, out, err = command(*arguments)
        monkeypatch.setenv("GPUIMAGE_TODAY", EDITION.isoformat())
        assert (code, out) == fresh[:2]
        assert err.count("days old") == (today == "2027-04-01")


def test_a_day_that_is_none_leaves_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUIMAGE_TODAY", "soon")
    assert tables.age() == max(0, (date.today() - EDITION).days)


# The commands.


@pytest.fixture
def run(command: Command) -> Command:
    return partial(command, "data")


def test_the_overview_counts_what_the_files_hold(run: Command) -> None:
    code, out, err = run("--format", "json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    counted = {table["name"]: table for table in found["tables"]}
    assert (found["edition"], found["age_days"], found["stale"]) == ("2026-12-01", 0, False)
    for table, sections in SECTIONS.items():
        assert counted[table]["rows"] == sum(len(rows_at(shipped(table), section)) for section in sections)
    text = json.dumps(shipped("gpus")["gpus"])
    assert counted["gpus"]["unverified"] == text.count('"verified": false')
    recalled = [row for row in shipped("torch_wheels")["releases"] if 'verified": false' in json.dumps(row)]
    assert counted["torch_wheels"]["unverified"] == len(recalled) > 0


def test_own_rows_are_counted_with_their_file(own: Callable[..., Path], run: Command) -> None:
    path = own("torch_wheels", releases=[newer_torch()])
    found = {table["name"]: table for table in json.loads(run("--format", "json")[1])["tables"]}
    assert (found["torch_wheels"]["own"], found["torch_wheels"]["file"]) == (1, str(path))
    assert found["torch_wheels"]["rows"] == 43
    assert f"own rows: 1 in {path}" in run()[1]
    assert "your own: " in run("show", "torch", "2.99")[1]


ASKED: dict[tuple[str, str], tuple[str, object]] = {
    ("torch", "2.9.1"): ("torch", "2.9.1"),
    ("torch", "2.9.1+cu130"): ("torch", "2.9.1"),
    ("cuda", "12.8"): ("cuda", "12.8.0"),
    ("driver", "550"): ("linux_x86_64_driver_min", "550.54.14"),
    ("driver", "R550"): ("linux_x86_64_driver_min", "550.54.14"),
    ("gpu", "nvidia a10g"): ("name", "A10G"),
    ("wheel", "Flash_Attn"): ("name", "flash-attn"),
    ("nvidia-wheel", "nvidia-cublas"): ("version", "13.10.0.20"),
    ("nvidia-wheel", "nvidia-cublas==13.4.1.3"): ("version", "13.4.1.3"),
    ("image", "nvidia/cuda:12.8.1-base-ubuntu24.04"): ("cuda", "12.8.1"),
    ("image", "python:3.12-slim"): ("kind", "python"),
    ("apt", "cuda-nvcc-12-8"): ("package", "cuda-nvcc-X-Y"),
    ("apt", "nvidia-driver-550"): ("package", "nvidia-driver-NNN"),
    ("apt", "libcudnn8-dev"): ("package", "libcudnn8 / libcudnn8-dev"),
    ("apt", "cmake"): ("package", "cmake"),
    ("os", "ubuntu24.04"): ("python", "3.12"),
    ("library", "libcudnn.so.9"): ("family", "cuDNN 9"),
    ("error", "no-kernel-image"): ("code", 209),
}


@pytest.mark.parametrize(("kind", "name"), ASKED, ids=" ".join)
def test_the_rows_of_a_thing_come_whole_with_source_and_date(run: Command, kind: str, name: str) -> None:
    code, out, err = run("show", kind, *name.split(), "--format", "json")
    assert (code, err) == (0, "")
    rows = json.loads(out)["rows"]
    field, value = ASKED[kind, name]
    assert rows[0]["row"][field] == value
    for one in rows:
        assert one["row"] in rows_at(shipped(one["table"]), one["section"])  # every key of it, as it stands
    text = run("show", kind, *name.split())[1]
    plain = " ".join(text.split())
    assert all(" ".join(source.split()) in plain for one in rows for source in one["sources"])
    assert text.count("verified") >= len(rows)


def test_every_kind_has_an_example_here() -> None:
    assert {kind for kind, _ in ASKED} == set(tables.kinds())


@pytest.mark.parametrize(
    ("kind", "name", "says"),
    [
        ("torch", "2.91", "did you mean 2.9.1"),
        ("torch", "new", "no version of torch"),
        ("cuda", "12.7", "12.7 is not in the tables"),
        ("driver", "5500", "driver 5500 is in no row"),
        ("driver", "new", "in no row"),
        ("gpu", "A10H", "did you mean A10"),
        ("wheel", "flash-atn", "did you mean flash-attn"),
        ("nvidia-wheel", "nvidia-cublass", "did you mean nvidia-cublas"),
        ("nvidia-wheel", "nvidia-cublas 1.0", "which know 13.10.0.20"),
        ("image", "nvidia/cuda:12.8.1-cudnn-base-ubuntu24.04", "no image|never carries"),
        ("image", "nvidia/cuda:12.8.1-runtime-ubuntu18.04", "was seen"),
        ("image", "::", "no image"),
        ("image", "corp/unknown:1", "nothing is known of images"),
        ("apt", "cuda-nvc-12-8", "did you mean"),
        ("library", "libtorch.so", "not in the tables"),
        ("error", "no-kernel-imag", "did you mean no-kernel-image"),
        ("os", "ubuntu24.10", "did you mean ubuntu24.04"),
    ],
)
def test_what_no_row_has_is_said_with_exit_code_1(run: Command, kind: str, name: str, says: str) -> None:
    code, out, err = run("show", kind, name)
    assert (code, out) == (1, "")
    assert err.startswith("not known: ")
    assert re.search(says, err), err


def test_a_kind_that_is_none_is_a_usage_error_with_the_kinds(run: Command) -> None:
    code, out, err = run("show", "gpus", "A10G")
    assert (code, out) == (2, "")
    assert "did you mean gpu?" in err
    assert all(kind in err for kind in tables.kinds())
    assert run("show", "gpu")[0] == 2


@given(kind=st.sampled_from(sorted({kind for kind, _ in ASKED})), name=st.text(max_size=12))
def test_any_name_is_answered(kind: str, name: str) -> None:
    found = tables.show(kind, name)
    assert isinstance(found, Unknown) or found


def test_no_control_character_of_an_own_row_reaches_the_terminal(
    own: Callable[..., Path], run: Command
) -> None:
    row = {**row_of("gpus", "gpus", name="L4"), "name": "L\x1b[31m9", "note": "a\x07b\x9b"}
    own("gpus", gpus=[row])
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", run("show", "gpu", "L\x1b[31m9")[1])


def test_the_readme_shows_what_data_says(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("GPUIMAGE_DATA")
    monkeypatch.setenv("HOME", str(tmp_path))
    forget()
    examples = shown("### data")
    assert [example.arguments[1:2] for example in examples] == [[], ["show"]]
    for example in examples:
        compare(example, command(*example.arguments)[1])
