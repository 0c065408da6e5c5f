"""The image goes back to root, leaves the user it makes unused, or serves the network as root.

## Why
A process that leaves its container as root is root on the host, unless user namespaces are in use. CUDA needs no root:
the devices are open to every user (70 % of a sample of public GPU Dockerfiles name no user, notes on linting 7).

## Cost
No bytes: it is about how far an intruder gets.

## Instead
`USER 10001` behind the last step that installs; a number lets Kubernetes check that it is not root.

## Bad
```dockerfile
FROM python:3.12-slim
EXPOSE 8000
CMD ["python", "-m", "app"]
```

## Good
```dockerfile
FROM python:3.12-slim
EXPOSE 8000
USER 10001
CMD ["python", "-m", "app"]
```

## Not judged
Images that name no user and serve nothing (GI803, off by default), bases whose user nobody knows, entry points that change the user
themselves (gosu, su-exec, setpriv, runuser) or are a script of that name, and images for development (`deploy = "dev"`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuimage.dockerfile import Span
from gpuimage.facts import Call, FileFacts, StageFacts, Step
from gpuimage.finding import Hit, Rule
from gpuimage.patterns import pattern
from gpuimage.rules.shared import head_of

_SERVER = pattern(
    r"\b(uvicorn|gunicorn|hypercorn|waitress|fastapi run|flask run|streamlit run|tritonserver|vllm serve|"
    r"vllm\.entrypoints|sglang\.launch_server|text-generation-launcher|torchserve|bentoml serve|llama-server|"
    r"tensorflow_model_server|ray serve|mlflow server)\b|\b0\.0\.0\.0\b"
)
_CHANGES_USER = pattern(
    r"\b(gosu|su-exec|setpriv|runuser|chroot --userspec|sudo -u|su - \w|su \w+ -c|fixuid|s6-setuidgid)\b|/init\b"
)

_SCRIPT = pattern(r"entry-?point[^\s.]*(\.sh)?(\s|$)")

_RISK = "whoever breaks into it is root in the container"
_HELP = "USER 10001 behind the last step that installs"


def check(file: FileFacts) -> Iterator[Hit]:
    """The user at the end of each image."""
    if file.settings.deploy == "dev":
        return
    for stage in file.targets:
        if stage.end.user not in ("", "root", "0") or _changes_user(stage):
            continue
        last, made = _last_user(stage), _made(file, stage)
        if last is not None and "$" in last.instruction.arguments:
            continue  # the build decides
        if last is not None:
            span = Span(last.instruction.keyword_span.start, last.instruction.values[0].span.end)
            yield Hit(span, f"the image ends with the user root: {_RISK}", _HELP)
        elif made is not None:
            yield Hit(made.span, f"this user is made and never used, the image runs as root: {_RISK}", _HELP)
        elif _serves(stage):
            yield Hit(head_of(file, stage), f"the service listens on the network as root: {_RISK}", _HELP)


def _made(file: FileFacts, stage: StageFacts) -> Call | None:
    """The command that makes a user, in an image that names none."""
    if "useradd" not in file.source.text and "adduser" not in file.source.text:
        return None
    for call in file.calls_of(stage):
        system = any(word in ("-r", "--system", "-S") for word in call.values)
        if call.name in ("useradd", "adduser") and not system and not _asks(stage):
            return call
    return None


def _asks(stage: StageFacts) -> bool:
    """Whether a daemon or a script changes to users by itself."""
    return any(
        re.search(r"sshd|cron|supervisord|nginx|postgres|slurm", " ".join(step.instruction.texts)) is not None
        for step in stage.chain
        if step.instruction.keyword in ("CMD", "ENTRYPOINT", "RUN")
    )


def _changes_user(stage: StageFacts) -> bool:
    """Whether what the image starts may change the user by itself."""
    for step in stage.chain:
        one = step.instruction
        if one.onbuild or one.problem:
            continue
        text = " ".join(one.texts)
        if one.keyword in ("CMD", "ENTRYPOINT") and (_CHANGES_USER.search(text) or _SCRIPT.search(text)):
            return True
        if one.keyword == "RUN" and _CHANGES_USER.search(text):
            return True
    return False


def _serves(stage: StageFacts) -> bool:
    """Whether the image starts something that listens."""
    own = [one for one in (step.instruction for step in stage.chain) if not one.onbuild and not one.problem]
    starts = [one for one in own if one.keyword in ("CMD", "ENTRYPOINT")]
    # A daemon for ssh changes to the user who logs in.
    listens = any(one.keyword == "EXPOSE" and set(one.texts) - {"22", "22/tcp"} for one in own)
    return bool(starts) and (listens or any(_SERVER.search(" ".join(one.texts)) for one in starts))


def _last_user(stage: StageFacts) -> Step | None:
    found = None
    for step in stage.chain:
        if step.instruction.keyword == "USER" and step.instruction.values and not step.instruction.onbuild:
            found = step
    return found


RULE = Rule("GI802", "root-user", "note", check, twins=("DL3002",))
