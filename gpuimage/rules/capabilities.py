"""What in an image needs more of the driver than compute and utility."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from gpuimage.dockerfile import Span
from gpuimage.facts import FileFacts, StageFacts
from gpuimage.patterns import pattern
from gpuimage.rules.environment import settings_of

_VIDEO_PROJECTS = {
    "pynvvideocodec": "PyNvVideoCodec", "pynvcodec": "PyNvCodec", "nvidia-video-codec-sdk": "the video codec SDK",
}  # fmt: skip
_DALI = pattern(r"nvidia-dali(-.*)?")
_GRAPHICS_PROJECTS = {"isaacsim": "Isaac Sim", "isaacgym": "Isaac Gym", "isaaclab": "Isaac Lab"}
_NVENC = pattern(
    r"--enable-(?:nvenc|nvdec|cuvid|ffnvcodec)|\b(?:h264|hevc|av1)_(?:nvenc|cuvid)\b|\bnv-codec-headers\b|-hwaccel[ =]cuda\b"
)
_EGL = {"PYOPENGL_PLATFORM": "egl", "MUJOCO_GL": "egl", "__EGL_VENDOR_LIBRARY_FILENAMES": "nvidia"}
_VULKAN = pattern(r"libvulkan1|vulkan-tools|libvulkan-dev|vulkan-loader|vulkan-validationlayers")
# Packages that may use more of the driver than compute; with one of them `all` may have its reason.
_MAYBE = pattern(
    r"lib(e?gl|gles|opengl|glvnd|glx|glu|glew|glfw|osmesa|vulkan|x[a-z0-9]|sm6|ice6|sdl|qt|wayland|drm|gbm|va|av|vdpau|"
    r"nvidia|gst|opencv|cairo|gtk|ogre|openni|pcl|vtk)|"
    r".*(mesa|vulkan|x11|xorg|xvfb|xserver|vnc|ffmpeg|gstreamer|freeglut|opencv|blender|steam|desktop|firefox|chrom|"
    r"xfce|gnome|kde|openbox|novnc|virtualgl|opengl|gazebo|rviz|ros-|vlc|mpv|obs-|weston|glmark|nvenc).*"
)


class Need(Struct, frozen=True):
    """Something that needs a capability; `sure` where it does nothing without it."""

    capability: str
    what: str
    span: Span
    sure: bool


def needs(file: FileFacts, stage: StageFacts) -> Iterator[Need]:
    """What an image holds that clearly needs video or graphics."""
    yield from _projects(file, stage)
    yield from _encoders(file, stage)
    yield from _drawing(file, stage)


def _projects(file: FileFacts, stage: StageFacts) -> Iterator[Need]:
    for install in file.shipped_python(stage):
        for one in install.wanted:
            if one.name in _VIDEO_PROJECTS:
                yield Need("video", _VIDEO_PROJECTS[one.name], one.span, sure=True)
            elif _DALI.fullmatch(one.name):
                yield Need("video", "the video reader of DALI", one.span, sure=False)
            elif one.name in _GRAPHICS_PROJECTS:
                yield Need("graphics", _GRAPHICS_PROJECTS[one.name], one.span, sure=True)


def _encoders(file: FileFacts, stage: StageFacts) -> Iterator[Need]:
    """How the GPU's codecs come into it: how ffmpeg is configured, or how it is called."""
    built = {copy.from_stage for copy in file.chain_copies(stage)} - {None, stage.index}
    steps = [
        step for index in sorted(one for one in built if one is not None) for step in file.stages[index].chain
    ]
    for step in (*steps, *stage.chain):
        one = step.instruction
        if one.keyword not in ("RUN", "CMD", "ENTRYPOINT", "ENV") or one.onbuild or one.problem:
            continue
        if "nv" not in one.arguments and "hwaccel" not in one.arguments and "cuvid" not in one.arguments:
            continue
        found = _NVENC.search(one.arguments)
        if found:
            what = "the GPU's video encoder and decoder"
            yield Need("video", what, one.place(found.start(), found.end()), sure=True)
            return


def _drawing(file: FileFacts, stage: StageFacts) -> Iterator[Need]:
    """Vulkan without a software renderer, and programs that are told to draw by EGL."""
    if "ulkan" in file.source.text:
        packages = [package for call in file.system_of(stage) if call.installs for package in call.packages]
        if not any("mesa" in package.name or "swiftshader" in package.name for package in packages):
            for package in packages:
                if _VULKAN.fullmatch(package.name):
                    yield Need("graphics", "Vulkan", package.span, sure=False)
                    return
    for step in stage.chain:
        for setting in settings_of(step):
            wanted = _EGL.get(setting.name.text)
            if wanted and wanted in (setting.value or "").lower():
                span = Span(setting.name.span.start, setting.given.span.end)
                yield Need("graphics", f"drawing by EGL ({setting.name.text})", span, sure=False)
                return


def may_need_more(file: FileFacts, stage: StageFacts) -> bool:
    """Whether anything at all hints at video, graphics or display."""
    if next(needs(file, stage), None) is not None:
        return True
    for call in file.system_of(stage):
        if call.installs and any(not one.known or _MAYBE.fullmatch(one.name) for one in call.packages):
            return True
    text = file.source.text
    if any("DISPLAY" in step.env for step in (stage.end,)):
        return True
    return (
        re.search(r"(?i)egl|opengl|vulkan|nvenc|ffmpeg|x11|\bvnc|render|isaac|omniverse|unreal|unity", text)
        is not None
    )
