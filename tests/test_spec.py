"""What a good spec means: values, positions, overrides, digest, variants, schema."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from gpuimage.arch import ArchList
from gpuimage.errors import Location, SpecError
from gpuimage.reference import ImageReference
from gpuimage.spec import BadValueError, ByteSize, Spec, SpecFile, encode, json_schema, load_spec, variants

# The example of the design, word for word.
DESIGN = """\
image: registry.example.com/team/infer:1.4.0
flavor: runtime                 # runtime | devel
python: "3.12"
cuda: "12.8"                    # or left out: taken from the framework wheels
arch: "8.0;8.6;8.9"             # TORCH_CUDA_ARCH_LIST grammar
gpus: [A10G, L4]                # instead of, or checked against, arch
driver: "550"                   # the oldest host driver to serve; the plan refuses what it cannot run
wheels: [torch==2.9.1, torchvision, ./dist/mymodel-1.0-py3-none-any.whl]
requirements: requirements.txt  # or lock: uv.lock / pylock.toml
index: auto                     # auto | pypi | cu128 | an URL
apt: [libgl1]
compile:                        # built from source in a builder stage for exactly `arch`
  - package: flash-attn==2.8.3
    env: {MAX_JOBS: "4"}
jit: none                       # none | triton | nvcc
base: auto                      # auto | an image reference | oci:PATH | rootfs:PATH
app: {copy: [inference.py, src/], workdir: /app, command: [python, inference.py], user: app}
env: {HF_HOME: /models}
labels: {}
platforms: [linux/amd64]
build: {mirrors: {docker.io: registry.local:5000}, ca: company-ca.pem, secrets: [], cache: auto}
smoke: {import: [torch], run: ["python -m myapp.selftest"], require: []}   # require: [gpu]
budget: {image: 4.5GB, layer: 3GB}
matrix: {cuda: ["12.6", "12.8"], python: ["3.11", "3.12"]}                 # optional
"""

# Specs of real services, each well-formed (what some of them ask for is refused by the plan, not here).
SERVICES = {
    "cupy wheels": """\
image: registry.example.com/quant/price:1.1.0
flavor: runtime
python: "3.12"
gpus: [A100, L4]
driver: "580"
wheels: ["cupy-cuda12x[ctk]==14.2.0", numpy==2.3.5]
jit: none
app: {copy: [price.py], workdir: /app, command: [python, price.py], user: app}
""",
    "devel workbench": """\
image: registry.example.com/lab/workbench:2026.12
flavor: devel
python: "3.12"
cuda: "12.8"
arch: "8.0;9.0;10.0;12.0+PTX"
gpus: [A100, H100, B200, GeForce RTX 5090]
driver: "570"
wheels: [torch==2.9.1, ninja==1.13.0]
jit: nvcc
app: {workdir: /workspace, command: [bash], user: dev}
""",
    "compiled for old capabilities": """\
image: registry.example.com/cfd/step:0.2.0
flavor: runtime
python: "3.12"
cuda: "13.0"
arch: "7.0;8.0"
driver: "580"
wheels: [torch==2.11.0]
compile:
  - package: torch-scatter==2.1.2
jit: none
app: {copy: [step/], workdir: /app, command: [python, -m, step], user: app}
""",
    "two frameworks": """\
image: registry.example.com/video/cut:7.0.0
flavor: runtime
python: "3.12"
cuda: "12.8"
gpus: [L4]
driver: "570"
wheels: [torch==2.12.0, torchvision==0.27.0]
jit: none
app: {copy: [cut/], workdir: /app, command: [python, -m, cut], user: app}
""",
}

Load = Callable[[str], SpecFile]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Load a text from a directory that holds every file the examples name."""
    for name in ("inference.py", "price.py", "requirements.txt", "company-ca.pem", "other.pem", "uv.lock"):
        (tmp_path / name).touch()
    for name in ("dist", "src", "step", "cut", "ext"):
        (tmp_path / name).mkdir()
    (tmp_path / "dist" / "mymodel-1.0-py3-none-any.whl").touch()
    (tmp_path / "ext" / "pyproject.toml").touch()

    def of(text: str) -> SpecFile:
        path = tmp_path / "spec.yaml"
        path.write_text(text, encoding="utf-8")
        return load_spec(path)

    return of


def refused(load: Load, text: str) -> SpecError:
    with pytest.raises(SpecError) as caught:
        load(text)
    return caught.value


# ----------------------------------------------------------------------------------------------- values


def test_the_example_of_the_design_has_every_value(load: Load) -> None:
    spec = load(DESIGN).spec
    assert spec.image == ImageReference("registry.example.com", "team/infer", "1.4.0")
    assert spec.arch == ArchList.parse("8.0;8.6;8.9")
    assert (spec.python, spec.cuda, spec.driver, spec.index) == ("3.12", "12.8", "550", "auto")
    assert spec.gpus == ("A10G", "L4")
    assert spec.wheels == ("torch==2.9.1", "torchvision", "./dist/mymodel-1.0-py3-none-any.whl")
    assert (spec.compile[0].package, spec.compile[0].env) == ("flash-attn==2.8.3", {"MAX_JOBS": "4"})
    assert spec.app is not None
    assert spec.app.copy == ("inference.py", "src/")
    assert spec.app.command == ("python", "inference.py")
    assert spec.build.mirrors == {"docker.io": "registry.local:5000"}
    assert (spec.build.ca, spec.smoke.imports) == ("company-ca.pem", ("torch",))
    assert (spec.budget.image, spec.budget.layer, spec.budget.wheel) == (4_500_000_000, 3_000_000_000, None)
    assert spec.matrix is not None
    assert spec.matrix.python == ("3.11", "3.12")


@pytest.mark.parametrize("text", SERVICES.values(), ids=SERVICES)
def test_specs_of_real_services_load(load: Load, text: str) -> None:
    assert load(text).spec.image.registry == "registry.example.com"


def test_only_the_image_must_be_given_and_the_defaults_are_the_documented_ones(load: Load) -> None:
    spec = load("image: infer").spec
    assert spec == Spec(image=ImageReference.parse("infer"))
    assert encode(spec) == {
        "image": "docker.io/library/infer",
        "flavor": "runtime",
        "python": "3.12",
        "cuda": None,
        "arch": None,
        "gpus": [],
        "driver": None,
        "wheels": [],
        "requirements": None,
        "lock": None,
        "index": "auto",
        "apt": [],
        "compile": [],
        "jit": "none",
        "base": "auto",
        "app": None,
        "env": {},
        "labels": {},
        "platforms": ["linux/amd64"],
        "build": {"mirrors": {}, "ca": None, "secrets": [], "cache": "auto"},
        "smoke": {"import": [], "run": [], "require": []},
        "budget": {"image": None, "layer": None, "wheel": None},
        "matrix": None,
    }


@pytest.mark.parametrize(
    ("written", "key", "value"),
    [
        ("driver: 550", "driver", "550"),
        ("driver: 550.54", "driver", "550.54"),
        ("cuda: 12.8", "cuda", "12.8"),
        ("cuda: 13.0", "cuda", "13.0"),
        ("cuda: 12.8.1", "cuda", "12.8.1"),
        ("cuda: ~", "cuda", None),
        ("python: 3.12", "python", "3.12"),
        ("env: {A: 4}", "env", {"A": "4"}),
        ("env: {A: -1.5}", "env", {"A": "-1.5"}),
        ("env: {A: 2026-12-01}", "env", {"A": "2026-12-01"}),
        ("env: {A: 1e3}", "env", {"A": "1e3"}),
        ('env: {A: "yes", B: "010", C: ""}', "env", {"A": "yes", "B": "010", "C": ""}),
        ("env: {NO: x}", "env", {"NO": "x"}),
        ("env:\n  A: |-\n    one", "env", {"A": "one"}),
        ("app: {command: [sleep, 5]}", "app", None),
    ],
)
def test_an_unquoted_value_is_taken_where_its_text_is_certain(
    load: Load, written: str, key: str, value: object
) -> None:
    spec = load(f"image: x\n{written}\n").spec
    if key == "app":
        assert spec.app is not None
        assert spec.app.command == ("sleep", "5")
    else:
        assert getattr(spec, key) == value


@pytest.mark.parametrize(
    "scalar",
    [
        "3.10",
        "yes",
        "off",
        "010",
        "0x1F",
        "1_000",
        "1:30",
        "+1",
        "1.",
        ".5",
        "1.50",
        ".inf",
        ".nan",
        "-0.0e+1",
    ],
)
def test_an_unquoted_value_yaml_would_change_must_be_quoted(load: Load, scalar: str) -> None:
    error = refused(load, f"image: x\nenv: {{A: {scalar}}}\n")
    assert "without quotes" in error.what
    assert error.hint == f'write "{scalar}"'
    assert load(f'image: x\nenv: {{A: "{scalar}"}}\n').spec.env == {"A": scalar}


def test_byte_order_mark_and_dos_line_ends_are_taken(load: Load, tmp_path: Path) -> None:
    plain = load("image: x\nenv:\n  A: b\n")
    path = tmp_path / "dos.yaml"
    path.write_bytes(b"\xef\xbb\xbfimage: x\r\nenv:\r\n  A: b\r\n")
    dos = load_spec(path)
    assert dos.spec == plain.spec
    assert (dos.at("env.A").line, dos.at("env.A").column) == (3, 6)


@pytest.mark.parametrize(
    "line",
    [
        "wheels: ['torch @ https://example.com/torch-2.9.1-cp312-cp312-linux_x86_64.whl']",
        "wheels: [torch==2.9.1+cu128, 'numpy>=2,<3']",
        "wheels: ['torch; python_version<\"3.12\"', 'torch==2.9.1; python_version>=\"3.12\"']",
        "compile: [{package: ./ext}]",
        "index: https://download.pytorch.org/whl/cu128",
        "index: cpu",
        "base: nvidia/cuda:12.8.1-runtime-ubuntu24.04",
        "base: oci:bases/slim",
        "base: rootfs:/var/tmp/slim.tar",
        "lock: uv.lock",
        "app: {copy: [., '*.py', 'src/'], user: '1000:1000', workdir: /srv/my app}",
        "app: {user: root}",
        "apt: [libgl1, 'g++', libc6=2.36-9+deb12u9]",
        "labels: {org.opencontainers.image.source: https://example.com}",
        "platforms: [linux/amd64, linux/arm64]",
        "build: {mirrors: {docker.io/nvidia: 'cache:5000/nv', ghcr.io: ghcr.local}}",
        "build: {secrets: ['id=netrc,src=.netrc', 'id=token,env=TOKEN']}",
        "budget: {image: 3GiB, layer: 500MB, wheel: 1073741824}",
        "arch: Ampere",
    ],
)
def test_other_ways_to_write_a_value_are_taken(load: Load, line: str) -> None:
    load(f"image: x\n{line}\n")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("wheels: [../x.whl]", "leaves the directory"),
        ("wheels: [/x.whl]", "not beside the spec"),
        ("wheels: [./dist]", "no wheel file"),
        ("wheels: [./broken.whl]", "not named as a wheel"),
        ("wheels: [./uv.lock]", "no wheel file"),
        ("wheels: ['https://example.com/x.whl']", "NAME @ URL"),
        ("wheels: ['x @ https://me:pw@example.com/x.whl']", "password"),
        ("wheels: [torch], \n  compile: x", "not YAML"),
        ("wheels: [torch]\ncompile: [{package: Torch}]", "torch is asked for twice"),
        ("compile: [{package: ./src}]", "neither pyproject.toml nor setup.py"),
        ("compile: [{package: ./nothing}]", "no source"),
        ("compile: [{package: ./uv.lock}]", "no source archive"),
        ("app: {copy: [out]}", "link that leaves"),
        ("app: {copy: ['src/**/*.py']}", "knows no '**'"),
        ("app: {copy: [inferense.py]}", "write inference.py"),
        ("app: {copy: ['']}", "empty"),
        ("app: {workdir: /app/../etc}", "'..'"),
        ("app: {workdir: $HOME}", "not absolute"),
        ("requirements: ~/requirements.txt", "no file"),
        ("base: 'oci:'", "names no path"),
        ("index: ftp://example.com", "no URL"),
        ("index: PyPI", "write pypi"),
        ("platforms: []", "empty list"),
        ("gpus: ['  ']", "empty"),
        ("smoke: {run: ['']}", "empty"),
        ("build: {secrets: ['id=a,src=b,src=c']}", "twice"),
        ("budget: {image: -1}", "no size"),
        ("budget: {image: 5 parsecs}", "no unit"),
        ("budget: {image: 99999999TB}", "too large"),
        ("budget: {image: 1GB, wheel: 2GB}", "more than budget.image"),
        ("driver: 5", "no driver"),
        ("cuda: ''", "no version of CUDA"),
    ],
)
def test_values_that_cannot_be_right_are_refused(load: Load, tmp_path: Path, line: str, words: str) -> None:
    (tmp_path / "broken.whl").touch()
    (tmp_path / "out").symlink_to(tmp_path.parent)
    assert words in str(refused(load, f"image: x\n{line}\n"))


def test_a_link_that_stays_beside_the_spec_may_be_copied(load: Load, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to("src")
    load("image: x\napp: {copy: [alias]}\n")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4.5GB", 4_500_000_000),
        ("500MB", 500_000_000),
        ("3GiB", 3 * 2**30),
        ("1.5 MiB", 3 * 2**19),
        ("64kB", 64_000),
        ("64KB", 64_000),
        ("7", 7),
        ("7B", 7),
    ],
)
def test_a_size_is_read_in_powers_of_1000_or_1024(text: str, size: int) -> None:
    assert ByteSize.parse(text) == size


@settings(deadline=None)
@given(st.integers(1, 2**59))
def test_a_size_is_shown_to_within_a_hundredth_of_its_unit(size: int) -> None:
    shown = ByteSize.parse(str(ByteSize(size)))
    assert abs(shown - size) <= max(size * 0.006, 1)


@settings(deadline=None)
@given(st.text(alphabet="0123456789.kKMGTiB -+e", max_size=12))
def test_any_text_is_a_positive_size_or_refused(text: str) -> None:
    try:
        size = ByteSize.parse(text)
    except BadValueError:
        return
    assert size > 0


# -------------------------------------------------------------------------------------------- positions


@pytest.mark.parametrize(
    ("key", "line", "stands"),
    [
        ("image", 1, "registry.example.com"),
        ("wheels", 8, "[torch==2.9.1"),
        ("wheels[1]", 8, "torchvision"),
        ("compile[0].package", 13, "flash-attn"),
        ("compile[0].env.MAX_JOBS", 14, '"4"'),
        ("build.mirrors.docker.io", 21, "registry.local"),
        ("smoke.import[0]", 22, "torch"),
        ("matrix.python[1]", 24, '"3.12"'),
        ("compile[0].nothing", 13, "package:"),
        ("compile[7].package", 13, "- package:"),
        ("app.copy[9]", 17, "[inference.py"),
        ("nothing.at.all", 1, "image:"),
    ],
)
def test_a_key_has_its_place_in_the_file_or_that_of_its_nearest_parent(
    load: Load, key: str, line: int, stands: str
) -> None:
    spec = load(DESIGN)
    place = spec.at(key)
    assert (place.path, place.line, place.key) == (spec.path, line, key)
    assert place.column is not None
    assert DESIGN.splitlines()[line - 1][place.column - 1 :].startswith(stands)


def test_a_spec_made_by_hand_has_no_lines() -> None:
    spec = SpecFile(Path("spec.yaml"), Spec(image=ImageReference.parse("x")), "0" * 64)
    assert spec.at("cuda") == Location(Path("spec.yaml"), key="cuda")
    assert spec.directory == Path()


# -------------------------------------------------------------------------------------------- overrides


@pytest.mark.parametrize(
    ("key", "value", "read"),
    [
        ("python", "3.13", lambda s: s.python == "3.13"),
        ("build.ca", "other.pem", lambda s: s.build.ca == "other.pem"),
        (
            "build.mirrors.ghcr.io",
            "cache:5000",
            lambda s: s.build.mirrors == {"docker.io": "registry.local:5000", "ghcr.io": "cache:5000"},
        ),
        ("build.mirrors.docker.io", "cache:5000", lambda s: s.build.mirrors == {"docker.io": "cache:5000"}),
        ("compile[0].package", "xformers", lambda s: s.compile[0].package == "xformers"),
        ("compile[0].env.MAX_JOBS", "8", lambda s: s.compile[0].env == {"MAX_JOBS": "8"}),
        ("gpus", "[T4, 'NVIDIA L4']", lambda s: s.gpus == ("T4", "NVIDIA L4")),
        ("gpus[1]", "T4", lambda s: s.gpus == ("A10G", "T4")),
        ("budget.image", "2GiB", lambda s: s.budget.image == 2**31),
        ("env", "{A: b}", lambda s: s.env == {"A": "b"}),
        ("image", "other:2", lambda s: str(s.image) == "other:2"),
    ],
)
def test_an_override_replaces_the_value_of_the_file(
    load: Load, key: str, value: str, read: Callable[[Spec], bool]
) -> None:
    path = load(DESIGN).path
    overrides = {key: value}
    if key == "budget.image":
        overrides["budget.layer"] = "1GB"
    spec = load_spec(path, overrides=overrides)
    assert read(spec.spec)
    assert spec.at(key).line is None  # it stands in no line of the file
    assert load_spec(path).spec == load(DESIGN).spec


def test_an_override_makes_the_mapping_it_needs(load: Load) -> None:
    path = load("image: x\n").path
    spec = load_spec(path, overrides={"build.mirrors.docker.io": "cache:5000", "app.user": "me"}).spec
    assert spec.build.mirrors == {"docker.io": "cache:5000"}
    assert spec.app is not None
    assert spec.app.user == "me"


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("build.cta", "x", "write ca"),
        ("", "x", "no place"),
        ("image.tag", "x", "has no keys"),
        ("build.ca[0]", "x", "is no list"),
        ("gpus[9]", "x", "no entry 9"),
        ("gpus", "[A10G", "not YAML"),
        ("gpus", "A10G", "write [A10G]"),
        ("python", "3.1", "command line"),
        ("build.ca", "none.pem", "no file 'none.pem'"),
        ("env.A", "a\nb", "control character"),
        ("env.A", "\udc80", "control character"),
        ("env.A.B", "x", "write A_B"),
    ],
)
def test_a_wrong_override_is_one_error_without_a_line(load: Load, key: str, value: str, words: str) -> None:
    path = load(DESIGN).path
    with pytest.raises(SpecError) as caught:
        load_spec(path, overrides={key: value})
    assert words in str(caught.value)
    assert caught.value.where is not None
    assert (caught.value.where.path, caught.value.where.line) == (path, None)


# ----------------------------------------------------------------------------------------------- digest


def test_the_digest_counts_values_not_their_writing(load: Load) -> None:
    first = load('image: x\nwheels: [torch]\nenv: {A: "1", B: "2"}\narch: "8.6;8.0"\n').digest
    assert (
        load(
            "# other\nenv: {B: 2, A: 1}\narch: 8.0 8.6\nimage: docker.io/library/x\nwheels:\n- torch\n"
        ).digest
        == first
    )
    assert load('image: x\npython: "3.12"\njit: none\n').digest == load("image: x\n").digest


def test_the_digest_leaves_out_what_concerns_the_building_host(load: Load) -> None:
    bare = load("image: x\n").digest
    host = "build: {mirrors: {docker.io: 'a:1'}, ca: company-ca.pem, secrets: ['id=a,src=b'], cache: none}"
    assert load(f"image: x\n{host}\n").digest == bare


@pytest.mark.parametrize(
    "line",
    [
        "flavor: devel", 'python: "3.13"', 'cuda: "12.8"', 'arch: "8.0"', "gpus: [L4]", 'driver: "550"',
        "wheels: [torch]", "requirements: requirements.txt", "lock: uv.lock", "index: pypi",
        "apt: [libgl1]", "compile: [{package: x}]", "jit: triton", "base: debian", "app: {user: app}",
        "env: {A: b}", "labels: {a: b}", "platforms: [linux/arm64]", "smoke: {import: [torch]}",
        "budget: {image: 1GB}", 'matrix: {cuda: ["12.6"]}',
    ],
)  # fmt: skip
def test_the_digest_counts_every_other_key(load: Load, line: str) -> None:
    assert load(f"image: x\n{line}\n").digest != load("image: x\n").digest


# --------------------------------------------------------------------------------------------- variants


def test_a_matrix_expands_to_one_spec_for_each_combination(load: Load) -> None:
    found = variants(load(DESIGN))
    assert [(str(v.spec.image.tag), v.spec.cuda, v.spec.python) for v in found] == [
        ("1.4.0-cu126-py311", "12.6", "3.11"),
        ("1.4.0-cu126-py312", "12.6", "3.12"),
        ("1.4.0-cu128-py311", "12.8", "3.11"),
        ("1.4.0-cu128-py312", "12.8", "3.12"),
    ]
    assert len({v.digest for v in found}) == 4
    assert all(v.spec.matrix is None for v in found)
    # a complaint about a variant's version points at the matrix
    assert [(v.at("cuda").line, v.at("cuda").column) for v in found] == [
        (24, 17),
        (24, 17),
        (24, 25),
        (24, 25),
    ]


def test_only_what_the_matrix_names_goes_into_the_tag(load: Load) -> None:
    (only,) = variants(load('image: x\ncuda: "12.8"\nmatrix: {python: ["3.11"]}\n'))
    assert (str(only.spec.image), only.spec.cuda) == ("x:py311", "12.8")


def test_a_variant_is_the_spec_written_without_a_matrix(load: Load) -> None:
    (variant,) = variants(load('image: x:1\ncuda: "12.8"\nmatrix: {cuda: ["12.6.3"]}\n'))
    assert variant.digest == load('image: x:1-cu126\ncuda: "12.6.3"\n').digest


def test_without_a_matrix_there_is_one_variant_the_spec_itself(load: Load) -> None:
    spec = load("image: x\n")
    assert variants(spec) == (spec,)


# ----------------------------------------------------------------------------------------------- schema


@cache
def validator() -> Draft202012Validator:
    schema: Any = json_schema()
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def test_the_schema_is_valid_and_takes_the_examples() -> None:
    check = validator()
    for text in (DESIGN, *SERVICES.values()):
        assert list(check.iter_errors(yaml.safe_load(text))) == []


def test_the_schema_has_every_key_and_nothing_of_how_a_value_is_held_in_memory() -> None:
    schema: Any = json_schema()
    assert set(schema["$defs"]["Spec"]["properties"]) == set(encode(Spec(image=ImageReference.parse("x"))))
    assert set(schema["$defs"]) == {
        "Spec", "Compile", "App", "Build", "Smoke", "Budget", "Matrix", "ImageReference", "ArchList",
    }  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [
        "unknown_key", "unknown_key_nested", "unknown_key_in_list", "missing_image", "missing_package",
        "list_wanted", "command_as_text", "mapping_wanted", "text_wanted", "python_patch", "python_two",
        "cuda_variant", "truth_value", "flavor_enum", "jit_enum", "platform", "require_enum", "arch_list",
        "env_name", "env_list", "label_name", "user_name", "workdir_relative", "apt_option", "apt_two",
        "module_name", "driver_words", "budget_unit", "a_list",
    ],
)  # fmt: skip
def test_the_schema_refuses_what_load_spec_refuses_for_its_shape(name: str) -> None:
    text = (Path(__file__).parent / "bad_specs" / f"{name}.yaml").read_text(encoding="utf-8")
    assert list(validator().iter_errors(yaml.safe_load(text)))


VALUES: dict[str, list[object]] = {
    "flavor": ["runtime", "devel", "base", ""],
    "python": ["3.12", "3.9", "3.5", "3.012", "3.12 ", "4.0"],
    "cuda": ["12.8", "12.8.1", "12", "9.2", "12.8 ", "cu128"],
    "driver": ["550", "550.54.14", "55", "550.", "R550"],
    "apt": [["libgl1"], ["g++=4:12"], ["X"], ["-y"], [""], "libgl1"],
    "env": [{"A": "b"}, {"A_1": ""}, {"1A": "b"}, {"": "b"}, ["A"]],
    "labels": [{"a.b/c-d": "e"}, {"a ": "b"}, {"-a": "b"}],
    "platforms": [["linux/amd64"], [], ["linux/riscv64"]],
    "app": [
        {"user": "app"},
        {"user": "0:0"},
        {"user": "A"},
        {"workdir": "/a"},
        {"workdir": "a"},
        {"x": "y"},
        {},
    ],
    "smoke": [
        {"import": ["a.b"]},
        {"import": ["a-b"]},
        {"require": ["gpu"]},
        {"require": ["GPU"]},
        {"run": [""]},
    ],
    "budget": [{"image": "1GB"}, {"image": "1.5 GiB"}, {"image": "1G"}, {"image": ""}, {"image": "x"}],
    "jit": ["none", "triton", "nvcc", "None"],
}


@settings(deadline=None)
@given(st.fixed_dictionaries({}, optional={key: st.sampled_from(values) for key, values in VALUES.items()}))
def test_schema_and_load_spec_agree_on_quoted_values(
    tmp_path_factory: pytest.TempPathFactory, data: dict[str, object]
) -> None:
    data = {"image": "x", **data}
    path = tmp_path_factory.getbasetemp() / "agree.yaml"
    path.write_text(yaml.safe_dump(data, default_style='"'), encoding="utf-8")
    accepted = not list(validator().iter_errors(data))
    try:
        load_spec(path)
    except SpecError as error:
        refused_because = str(error)
    else:
        refused_because = ""
    assert accepted == (not refused_because), refused_because
