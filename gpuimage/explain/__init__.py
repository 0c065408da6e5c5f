"""From a message, a log, a key of a spec to what is behind it.

`explain` and `explain_log` find known errors, the first cause first; `spec_causes` and `image_causes` name what in a
spec or an image causes them; `explain_key` tells what of a plan follows from a key. The last three load what they need
when they are asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from gpuimage.explain.messages import explain, explain_log
from gpuimage.explain.types import Cause, Diagnosis, Named

if TYPE_CHECKING:
    from gpuimage.explain.image import image_causes
    from gpuimage.explain.key import KeyAnswer, Written, explain_key
    from gpuimage.explain.spec import spec_causes

_PLACES = {
    "KeyAnswer": "key",
    "Written": "key",
    "explain_key": "key",
    "image_causes": "image",
    "spec_causes": "spec",
}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"gpuimage.explain.{_PLACES[name]}"), name)


__all__ = [
    "Cause",
    "Diagnosis",
    "KeyAnswer",
    "Named",
    "Written",
    "explain",
    "explain_key",
    "explain_log",
    "image_causes",
    "spec_causes",
]
