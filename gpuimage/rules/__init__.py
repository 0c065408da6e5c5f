"""The rules, one a file: its docstring is its page, RULE its entry.

A module is loaded when a file holds one of the words that its rule needs to find anything, so that one small file is
linted at once. `load` gives the rules for a text, `every` all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module

from gpuimage.finding import Rule

_PYTHON = "pip uv poetry pdm"
_FETCH = "download wget curl aria2 clone lfs pull add load pipeline( from_pretrained( sentencetransformer( whispermodel("
_COMPILES = "devel nvcc toolkit setup.py git+ flash requirements lock force no-binary isolation nvcr ops"

# Each module with words of which one must be in the file, in lower case, for its rule to have anything to say; none
# where it always may. `config:driver` stands for a config that names one, `file:stages` for a file with several
# (facts/file.py, `words`). An explicit list: a file that lies about is no rule, and a test says so.
MODULES: Mapping[str, str] = {
    "gi101_devel_image_ships": "devel nvcr",
    "gi102_no_such_tag": "cuda",
    "gi103_tag_end_of_life": "cuda",
    "gi104_base_floating": "",
    "gi105_cuda_base_for_cpu_image": "cpu",
    "gi106_ngc_torch_replaced": "nvcr",
    "gi107_registry_not_trusted": "config:registries",
    "gi201_driver_in_image": "nvidia- libcuda cuda-drivers nvcuvid kmod",
    "gi202_meta_package_pulls_driver": "cuda",
    "gi203_toolkit_installed_again": "cuda- libcu nccl cudnn libnpp libnv",
    "gi204_distribution_toolkit": "nvidia-cuda-toolkit",
    "gi205_revoked_key": "apt-key trusted 7fa2af80 f60f4b3d7fa2af80",
    "gi206_repository_of_another_os": "/repos/",
    "gi207_driver_library_copied": "libcuda libnvidia libnvcuvid",
    "gi208_container_toolkit_in_image": "nvidia-container nvidia-docker",
    "gi209_cuda_compat_baked": "compat",
    "gi301_cuda_twice": "cuda",
    "gi302_torch_replaced": _PYTHON,
    "gi303_cpu_index_after_cuda": f"cpu {_PYTHON}",
    "gi304_cuda_major_mismatch": _COMPILES,
    "gi305_index_does_not_exist": f"whl/ index {_PYTHON}",
    "gi306_extra_index_trap": "extra",
    "gi307_gpu_library_unpinned": _PYTHON,
    "gi308_cuda_wheels_in_cpu_image": "cpu visible_devices",
    "gi309_driver_too_old": "config:driver nvidia_disable",
    "gi401_arch_list_missing": _COMPILES,
    "gi402_arch_unsupported": "arch sm_ compute_",
    "gi403_arch_list_grammar": "arch",
    "gi404_arch_list_in_wrong_variable": "arch",
    "gi405_arch_list_after_use": "arch",
    "gi406_no_ptx": "arch",
    "gi407_archs_outside_fleet": "arch",
    "gi408_cmake_archs": "arch",
    "gi409_gpu_queried_at_build": ".cuda 'cuda \"cuda nvidia-smi nvcc gpu devicequery bandwidthtest nvml nvitop nvidia-settings jax",
    "gi410_nvcc_missing": f"{_COMPILES} _cuda cublas llama whisper",
    "gi411_host_compiler_too_new": f"{_COMPILES} gcc g++ cmake make",
    "gi412_source_build_slow": "flash requirements .txt pyproject lock",
    "gi501_stubs_at_run_time": "stubs",
    "gi502_library_path_overwritten": "ld_library_path",
    "gi503_unknown_capability": "nvidia_driver_capabilities",
    "gi504_visible_devices_baked": "visible_devices",
    "gi505_capabilities_missing": f"nv hwaccel cuvid vulkan egl gl {_PYTHON}",
    "gi506_all_capabilities": "nvidia_driver_capabilities",
    "gi507_nvidia_variables_missing": f"conda {_PYTHON}",
    "gi508_legacy_image": "cuda_version",
    "gi509_cudnn_mixed": "cudnn ld_library_path",
    "gi601_copied_then_installed": ".whl .deb .rpm .run .tar .tgz .txz .zip .conda",
    "gi602_deleted_in_later_layer": "rm -delete",
    "gi603_recursive_ownership": "chown chmod chgrp",
    "gi604_weights_in_layer": _FETCH,
    "gi605_build_tree_kept": "clone",
    "gi606_code_before_install": "copy add",
    "gi607_context_without_ignore": "copy add",
    "gi701_package_cache_kept": _PYTHON,
    "gi702_package_lists_kept": "apt dnf yum apk zypper",
    "gi703_recommended_packages": "apt",
    "gi704_conda_not_cleaned": "conda mamba",
    "gi705_conda_and_pip_torch": "conda mamba",
    "gi706_conda_channel_ended": "conda mamba",
    "gi707_upgrade_on_cuda_base": "upgrade dnf yum",
    "gi708_compilers_left": "gcc g++ build-essential cmake clang ninja gfortran cargo rustc base-devel",
    "gi801_secret_in_image": "token passw secret _key apikey api-key _pat credential passphrase login connection_string :// hf_ gh gl "
    "nvapi sk- akia asia xox aiza npm_ pypi- dckr_ eyj -----begin",
    "gi802_root_user": "",
    "gi803_no_user": "",
    "gi901_bad_instruction": "",
    "gi902_undefined_arg_in_from": "$",
    "gi903_unused_stage": "file:stages",
    "gi904_heredoc_without_errexit": "<<",
    "gi905_array_form_typo": "[",
    "gi906_ignore_comment_without_effect": "ignore",
}  # fmt: skip

NAMES: Mapping[str, str] = {
    code.upper(): name.replace("_", "-") for code, _, name in (module.partition("_") for module in MODULES)
}
"""The code of each rule with its name; no rule is loaded for it."""


OPTIONAL = frozenset({"GI507", "GI803"})
"""The rules that run only where they are selected by name; a test compares."""


@cache
def rule(code: str) -> Rule:
    """The rule of a code."""
    module = next(name for name in MODULES if name.startswith(code.lower()))
    found: Rule = import_module(f"gpuimage.rules.{module}").RULE
    return found


def load(text: str, *, optional: bool = True) -> Iterator[Rule]:
    """The rules that may have something to say of a Dockerfile's text, in the order of their codes."""
    lowered = text.lower()
    for code, words in zip(NAMES, MODULES.values(), strict=True):
        if code in OPTIONAL and not optional:
            continue
        if not words or any(word in lowered for word in words.split()):
            yield rule(code)


@cache
def all_rules() -> tuple[Rule, ...]:
    """All rules, in the order of their codes."""
    return tuple(rule(code) for code in NAMES)
