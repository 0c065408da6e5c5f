"""What `gpuimage lock` says of a lock."""

from __future__ import annotations

from gpuimage.lock import lock_path
from gpuimage.plan import Plan
from gpuimage.units import size


def lock_text(plan: Plan) -> str:
    """One line, ending in a line break: where the lock is, how many wheels it holds, what they weigh and how old it is."""
    if plan.lock is None:
        return f"{plan.spec.path}: nothing to lock\n"
    lock = plan.lock
    wheels = f"{len(lock.packages)} wheels, {size(lock.download_bytes)} to download"
    return f"{lock_path(plan.spec)}: {wheels}, resolved {lock.resolved}\n"
