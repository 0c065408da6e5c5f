"""Whatever is wrong with a spec: one clear error, with its place, and never another exception."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gpuimage.errors import SpecError
from gpuimage.spec import SpecFile, load_spec

BAD = Path(__file__).parent / "bad_specs"

# name of the file, line, column, key, what stands at that place in the file, words of the error parted by "|"
# fmt: off
TABLE: list[tuple[str, int, int, str | None, str, str]] = [
    ("a_list", 1, 1, None, "- image: r",
     "keys with values, not a list|image: NAME"),
    ("a_word", 1, 1, None, "registry.e",
     "not one value"),
    ("alias", 2, 6, "env", "*defaults",
     "no aliases (*defaults)|write the value out"),
    ("alias_bomb", 1, 4, "a", "&a [lol, l",
     "no anchors (&a)"),
    ("apt_option", 2, 7, "apt[0]", "-y, libgl1",
     "an option, not a package"),
    ("apt_two", 2, 7, "apt[0]", "libgl1 lib",
     "more than one package|an entry of its own"),
    ("arch_cmake", 2, 7, "arch", "80;90",
     "CMake's way|write \"8.0;9.0\""),
    ("arch_commas", 2, 7, "arch", '"8.0,8.6"',
     'commas|write "8.0;8.6"'),
    ("arch_impossible", 2, 7, "arch", '"8.0;8.1"',
     "no compute capability 8.1|8.0 and 8.6"),
    ("arch_list", 2, 7, "arch", "[8.0, 8.6]",
     'a list, where text|write "8.0;8.6"'),
    ("arch_native", 2, 7, "arch", "native",
     "the building machine|gpus"),
    ("arch_sm", 2, 7, "arch", "sm_80",
     "nvcc's name|write \"8.0\""),
    ("at_sign", 2, 13, "app.user", "@me}",
     "not YAML|in quotes"),
    ("bad_indent", 4, 3, None, "user: app",
     "not YAML|same indent"),
    ("base_reference", 2, 7, "base", '"nvidia/cu',
     "white space"),
    ("budget_layer_above_image", 4, 10, "budget.layer", "4GB",
     "4GB|more than budget.image (3GB)"),
    ("budget_unit", 2, 17, "budget.image", "4.5G}",
     "'G' is no unit|4.5GB|4.5GiB"),
    ("budget_zero", 2, 17, "budget.layer", "0}",
     "no size|leave it out"),
    ("ca_missing", 2, 13, "build.ca", "company-ca",
     "no file 'company-ca.pem'"),
    ("command_as_text", 3, 12, "app.command", "python inf",
     'a list must stand|write [python, inference.py, "--port", "80"]'),
    ("control_character", 2, 10, "env.A", '"x\\0y"}',
     "0x00"),
    ("copy_absolute", 2, 14, "app.copy[0]", "/etc/passw",
     "not beside the spec"),
    ("copy_escapes", 4, 7, "app.copy[0]", "../secrets",
     "leaves the directory of the spec"),
    ("copy_missing", 2, 14, "app.copy[0]", "inference.",
     "no file or directory 'inference.py'"),
    ("copy_no_match", 2, 14, "app.copy[0]", '"*.pyx"]}',
     "matches '*.pyx'"),
    ("cuda_major_only", 2, 7, "cuda", "12",
     'no version of CUDA|"12.8"'),
    ("cuda_variant", 2, 7, "cuda", "cu128",
     "how CUDA's version is written|write \"12.8\""),
    ("deep_mappings", 2, 66, "env.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a", "{a: {a: {a",
     "16 levels"),
    ("deep_nesting", 2, 21, "env[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]", "[[[[[[[[[[",
     "16 levels"),
    ("dockerfile", 1, 1, None, "FROM nvidi",
     "a Dockerfile|gpuimage init"),
    ("driver_words", 2, 9, "driver", '">=550"',
     'no driver version|write "550"'),
    ("duplicate_key", 4, 1, "python", 'python: "3',
     "given twice|line 2|remove one"),
    ("duplicate_key_nested", 2, 19, "env.A", "A: z}",
     "env.A is given twice"),
    ("empty", 1, 1, None, "",
     "the spec is empty|image:"),
    ("empty_value", 2, 8, "wheels", "",
     "empty, where a list"),
    ("env_list", 3, 10, "env.PATHS", "[a, b]",
     "a list, where text"),
    ("env_name", 4, 3, "env.MY-NAME", 'MY-NAME: "',
     "no name of an environment variable|write MY_NAME"),
    ("escape", 2, 13, "env.A", 'FFFFFFFF"}',
     "stands for no character"),
    ("flavor_base", 2, 9, "flavor", "cudnn",
     "'cudnn'|devel, runtime"),
    ("flavor_enum", 2, 9, "flavor", "runtim",
     "'runtim'|write runtime"),
    ("half_a_character", 2, 10, "env.A", '"\\ud800"}',
     "0xd800"),
    ("image_capitals", 1, 8, "image", "registry.e",
     "'Team' has capital letters|write team"),
    ("image_digest", 1, 8, "image", "team/infer",
     "no digest yet"),
    ("image_scheme", 1, 8, "image", "https://re",
     "no scheme 'https://'|registry.example.com/team/infer"),
    ("image_variable", 1, 8, "image", "registry.e",
     "holds a variable"),
    ("index_name", 2, 8, "index", "cu12.8",
     "no index|write cu128"),
    ("index_password", 2, 8, "index", "https://me",
     "password|build.secrets"),
    ("jit_enum", 2, 6, "jit", "true",
     "the truth value true|none, nvcc, triton"),
    ("key_of_another_place", 2, 1, "mirrors", "mirrors: {",
     "unknown key 'mirrors'|build.mirrors"),
    ("label_name", 2, 10, "labels.my label", '"my label"',
     "no name of a label"),
    ("line_break", 2, 10, "env.A", '"x\\ny"}',
     "a line break"),
    ("list_as_key", 3, 5, "env", "[a, b]",
     "cannot be a key"),
    ("list_wanted", 2, 7, "gpus", "A10G, L4",
     "text, where a list|write [A10G, L4]"),
    ("lock_and_requirements", 2, 1, "lock", "lock: unkn",
     "both given|may disagree"),
    ("lock_missing", 2, 7, "lock", "uv.lock",
     "no file 'uv.lock'"),
    ("mapping_wanted", 2, 6, "app", "inference.",
     "text, where keys with values"),
    ("matrix_empty", 2, 9, "matrix", "{}",
     "names nothing"),
    ("matrix_twice", 2, 25, "matrix.cuda[1]", '"12.8.1"]}',
     "12.8 twice|the same tag"),
    ("merge", 3, 3, "app.<<", "<<: {user:",
     "unknown key '<<' in app"),
    ("mirror_key", 3, 13, "build.mirrors.dockerhub", "dockerhub:",
     "begin with a registry|docker.io"),
    ("mirror_value", 4, 16, "build.mirrors.docker.io", "http://cac",
     "no scheme 'http://'|cache.local:5000"),
    ("missing_image", 1, 1, None, "flavor: ru",
     "needs the key image|add image:"),
    ("missing_package", 3, 5, "compile[0]", "env: {MAX_",
     "needs the key package"),
    ("module_name", 2, 18, "smoke.import[0]", "scikit-lea",
     "no name of a module|write scikit_learn"),
    ("null_key", 2, 7, "env", ": x}",
     "not YAML"),
    ("octal", 2, 14, "env.UMASK", "022}",
     'without quotes|write "022"'),
    ("only_comments", 1, 1, None, "# image: r",
     "the spec is empty"),
    ("platform", 2, 26, "platforms[1]", "linux/aarc",
     "'linux/aarch64'|write linux/arm64"),
    ("python_float", 2, 9, "python", "3.10",
     'the number 3.1|write "3.10"'),
    ("python_float_eaten", 2, 9, "python", "3.1",
     'no Python 3.1|"3.10" in quotes'),
    ("python_patch", 2, 9, "python", '"3.12.1"',
     'minor version|write "3.12"'),
    ("python_tag", 2, 10, "env.A", "!!python/o",
     "no tags (!!python/object/apply:os.system)"),
    ("python_two", 2, 9, "python", '"2.7"',
     'no version of Python|"3.12"'),
    ("require_enum", 2, 19, "smoke.require[0]", "gpus]}",
     "'gpus'|gpu"),
    ("requirement_one_equals", 4, 5, "wheels[1]", "torch=2.9.",
     "'torch=2.9.1'|write torch==2.9.1"),
    ("requirement_option", 2, 10, "wheels[0]", '"-r requir',
     "no requirement|options"),
    ("requirement_twice", 2, 31, "wheels[2]", "Torch]",
     "torch is asked for twice|line 2"),
    ("requirements_directory", 2, 15, "requirements", ".",
     "a directory"),
    ("requirements_missing", 2, 15, "requirements", "requirment",
     "no file 'requirments.txt'|write requirements.txt"),
    ("secret_shape", 2, 19, "build.secrets[0]", "TOKEN]}",
     "no secret|id=NAME"),
    ("tab", 3, 1, "app", "\tuser: app",
     "a tab|spaces"),
    ("text_tag", 2, 9, "python", "!!str 3.12",
     "no tags (!!str)|quotes"),
    ("text_wanted", 2, 9, "driver", "[550, 570]",
     "a list, where text"),
    ("truth_value", 3, 12, "env.VERBOSE", "yes",
     'the truth value true|write "yes"'),
    ("two_colons", 2, 13, None, ": [python]",
     "not YAML|quotes"),
    ("two_documents", 2, 1, None, "---",
     "a second document"),
    ("unclosed_bracket", 3, 4, "gpus[2]", ": none",
     "not YAML|line 2|close the bracket"),
    ("unclosed_quote", 3, 1, "cuda", "",
     "not YAML|line 2|close the quotes"),
    ("unknown_key", 2, 1, "whels", "whels: [to",
     "unknown key 'whels'|write wheels"),
    ("unknown_key_in_list", 5, 5, "compile[1].enviroment", "enviroment",
     "unknown key 'enviroment' in compile[1]|write env"),
    ("unknown_key_nested", 4, 3, "app.comand", "comand: [p",
     "unknown key 'comand' in app|write command"),
    ("unknown_key_synonym", 2, 1, "torch_cuda_arch_list", "torch_cuda",
     "unknown key|write arch"),
    ("user_name", 2, 13, "app.user", '"App User"',
     "no user|1000:1000"),
    ("wheel_missing", 2, 17, "wheels[1]", "./dist/mym",
     "no wheel"),
    ("workdir_relative", 2, 16, "app.workdir", "app}",
     "not absolute|write /app"),
]
# fmt: on


def error_of(path: Path) -> SpecError:
    with pytest.raises(SpecError) as caught:
        load_spec(path)
    assert caught.value.exit_code == 2
    return caught.value


@pytest.mark.parametrize(
    ("name", "line", "column", "key", "stands", "words"), TABLE, ids=[row[0] for row in TABLE]
)
def test_a_bad_spec_gives_one_error_with_its_place_and_the_change_that_helps(
    name: str, line: int, column: int, key: str | None, stands: str, words: str
) -> None:
    path = BAD / f"{name}.yaml"
    error = error_of(path)
    assert error.where is not None
    assert (error.where.line, error.where.column, error.where.key) == (line, column, key)
    for part in words.split("|"):
        assert part in str(error)
    assert str(error).startswith(f"{path}:{line}:{column}: ")
    # the position is that of the offending text, by the file itself
    lines = path.read_text(encoding="utf-8").split("\n")
    assert lines[line - 1][column - 1 :].startswith(stands)


def test_every_bad_spec_is_in_the_table() -> None:
    assert {row[0] for row in TABLE} == {path.stem for path in BAD.glob("*.yaml")}
    assert len(TABLE) >= 25


# ------------------------------------------------------------------------------------ what is no spec file


def test_a_missing_file_is_named_with_its_neighbour(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text("image: x")
    error = error_of(tmp_path / "sepc.yaml")
    assert "no such file" in error.what
    assert error.hint == f"did you mean {tmp_path / 'spec.yaml'}"
    assert "gpuimage init" in (error_of(tmp_path / "nowhere" / "spec.yaml").hint or "")


def test_a_directory_is_told_from_a_spec(tmp_path: Path) -> None:
    assert "directory" in error_of(tmp_path).what
    (tmp_path / "spec.yaml").write_text("image: x")
    assert error_of(tmp_path).hint == f"write {tmp_path / 'spec.yaml'}"


def test_a_file_of_ten_megabytes_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    with path.open("wb") as file:
        file.truncate(10 * 2**20)  # NUL bytes, which would be another error if they were read
    error = error_of(path)
    assert "too large" in error.what
    assert "10,485,760 bytes" in error.what
    assert "1,048,576" in error.what


def test_a_file_just_within_the_limit_is_read(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text("image: x\n#" + "x" * (2**20 - 10))
    assert path.stat().st_size == 2**20
    assert load_spec(path).spec.image.repository == "library/x"


@pytest.mark.parametrize(
    ("content", "line", "column", "words"),
    [
        (b"\x7fELF\x02\x01\x01\0\0", 1, 8, "binary"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 3, 1, "binary"),
        (b"image: x\nenv: {A: \xff}\n", 2, 10, "not UTF-8"),
        ("image: x\nenv: {\u00e9: \u00e9\u00e9}\n".encode("latin-1"), 2, 7, "not UTF-8"),
        ("image: x\n".encode("utf-16"), 1, 1, "UTF-16"),
        (b"image: x\nenv: {A: \x07}\n", 2, 10, "cannot stand in YAML"),
        ("image: x\nenv: {\u00e9\u00e9: '\u2028', A: \x7f}\n".encode(), 2, 19, "cannot stand in YAML"),
    ],
)
def test_what_is_not_text_is_refused_at_its_first_bad_byte(
    tmp_path: Path, content: bytes, line: int, column: int, words: str
) -> None:
    path = tmp_path / "spec.yaml"
    path.write_bytes(content)
    error = error_of(path)
    assert error.where is not None
    assert (error.where.line, error.where.column) == (line, column)
    assert words in error.what


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    os.mkfifo(path)
    assert "no regular file" in error_of(path).what


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "spec.yaml/spec.yaml"])
def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "spec.yaml").write_text("image: x")
    error_of(tmp_path / name)


def test_a_file_with_too_many_values_is_refused_early(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text("image: x\ngpus: [" + "a," * 200_000 + "]\n")
    assert "20,000 values" in error_of(path).what


# ------------------------------------------------------------------------------------------- properties

VALID = """\
image: registry.example.com/team/infer:1.4.0
python: "3.12"
cuda: "12.8"
arch: "8.0;8.6+PTX"
gpus: [A10G, L4]
wheels:
  - torch==2.9.1
  - 'numpy>=2,<3; python_version>"3.9"'
compile:
  - package: flash-attn==2.8.3
    env: {MAX_JOBS: "4"}
app: {workdir: /app, command: [python, -m, app], user: app}
env: {HF_HOME: /models}
build: {mirrors: {docker.io: "registry.local:5000"}, secrets: ["id=a,src=b"], cache: auto}
smoke: {import: [torch], run: ["python -m app"], require: [gpu]}
budget: {image: 4.5GB, layer: 3GB}
matrix: {cuda: ["12.6"], python: ["3.11", "3.12"]}
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "spec.yaml"


def outcome_of(path: Path) -> SpecFile | SpecError:
    try:
        return load_spec(path)
    except SpecError as error:
        return error


def holds(path: Path, content: bytes) -> None:
    """Load it: a SpecFile, or a SpecError whose place lies in the file."""
    path.write_bytes(content)
    outcome = outcome_of(path)
    if isinstance(outcome, SpecFile):
        assert len(outcome.digest) == 64
        return
    assert outcome.exit_code == 2
    assert "cannot be read: " not in outcome.what  # a fault that only msgspec found has no position
    assert outcome.where is not None
    text = content.decode("utf-8", "replace").lstrip("\ufeff")
    assert 1 <= (outcome.where.line or 0) <= len(text.splitlines()) + 1
    assert len(str(outcome)) < 2000


pieces = st.sampled_from(
    [
        "", " ", "\n", "\t", ":", ": ", "- ", "[", "]", "{", "}", ",", "#", '"', "'", "|", ">", "&a ", "*a",
        "!!str ", "---\n", "...\n", "? ", "~", "null", "yes", "3.10", "010", "1:30", "0x1F", ".nan",
        "-.inf", "2026-12-01", "<<: ", "\\x00", "\\ud800", "\\UFFFFFFFF", "\r", "\u2028", "\x85", "\ufeff",
        "image: ", "env: {", "%YAML 9.9\n", "1e999", "9" * 5000, "[" * 50, "{a: " * 50, "é", "\U0001f680",
    ]
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=200))
@example(b"")
@example(b"\xef\xbb\xbf")
def test_any_bytes_are_a_spec_or_one_error(file: Path, content: bytes) -> None:
    holds(file, content)


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_a_spec_or_one_error(file: Path, text: str) -> None:
    holds(file, text.encode("utf-8", "surrogatepass"))


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_a_valid_spec_with_pieces_put_in_or_cut_out_is_a_spec_or_one_error(
    file: Path, data: st.DataObject
) -> None:
    text = VALID
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        text = text[:start] + data.draw(pieces) + text[start + data.draw(st.integers(0, 12)) :]
    holds(file, text.encode("utf-8", "surrogatepass"))


KEYS = [
    "image", "flavor", "python", "cuda", "arch", "gpus", "driver", "wheels", "requirements", "lock",
    "index", "apt", "compile", "jit", "base", "app", "env", "labels", "platforms", "build", "smoke",
    "budget", "matrix", "package", "copy", "workdir", "command", "user", "mirrors", "ca", "secrets",
    "cache", "import", "run", "require", "layer", "docker.io", "whels",
]  # fmt: skip
scalars = st.sampled_from(
    [
        "~", "yes", "3.10", "3.12", "12.8", '"8.0"', "Ampere", "x", '""', "auto", "cu128", "550", "4.5GB",
        "none", "..", "/", "a/b:1", "torch==2.9.1", "./x.whl", "gpu", "linux/amd64", "'[*'", "'*'", "'**'",
        "oci:", "https://[", "~x", '"a\\tb"', "id=a,src=b", "{}", "[]", "a@b", "'a @ b'", "'x[y'", "'; m'",
    ]
)  # fmt: skip
trees = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3).map(
            lambda items: "{" + ", ".join(f"{key}: {value}" for key, value in items.items()) + "}"
        )
    ),
    max_leaves=6,
)


@settings(deadline=None, max_examples=400)
@given(st.dictionaries(st.sampled_from(KEYS), trees, max_size=5))
def test_any_value_under_any_key_is_a_spec_or_one_error(file: Path, tree: dict[str, str]) -> None:
    text = "image: x\n" + "".join(f"{key}: {value}\n" for key, value in tree.items() if key != "image")
    holds(file, text.encode())
