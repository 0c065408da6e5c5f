"""What looks like a secret: names of variables, shapes of tokens, and what is only a stand-in for one."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from gpuimage.patterns import pattern

_SHAPES: tuple[tuple[str, str], ...] = (
    ("a Hugging Face token", r"hf_[A-Za-z0-9]{30,}"),
    ("a GitHub token", r"gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{30,}"),
    ("a GitLab token", r"gl(?:pat|dt|rt|cbt)-[A-Za-z0-9_-]{20,}"),
    ("an NGC API key", r"nvapi-[A-Za-z0-9_-]{40,}"),
    ("an API key", r"sk-(?:proj-|ant-)?[A-Za-z0-9_-]{24,}"),
    ("an AWS access key", r"A(?:KIA|SIA)[A-Z0-9]{16}"),
    ("a Slack token", r"xox[abprs]-[A-Za-z0-9-]{20,}"),
    ("a Google API key", r"AIza[A-Za-z0-9_-]{35}"),
    ("an npm token", r"npm_[A-Za-z0-9]{36}"),
    ("a PyPI token", r"pypi-AgE[A-Za-z0-9_-]{40,}"),
    ("a Docker Hub token", r"dckr_pat_[A-Za-z0-9_-]{20,}"),
    ("a JSON web token", r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    ("a private key", r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
)
_TOKEN = pattern(
    r"(?<![A-Za-z0-9_-])(?:"
    + "|".join(f"(?P<k{i}>{shape})" for i, (_, shape) in enumerate(_SHAPES))
    + r")(?![A-Za-z0-9])"
)
_MARKS = (
    "hf_",
    "gh",
    "gl",
    "nvapi-",
    "sk-",
    "AKIA",
    "ASIA",
    "xox",
    "AIza",
    "npm_",
    "pypi-",
    "dckr_",
    "eyJ",
    "-----BEGIN",
)
_URL = pattern(r"[a-z][a-z0-9+.-]{1,15}://(?P<user>[^\s/:@'\"$<>{}]+):(?P<password>[^\s/@'\"]+)@[^\s/'\"]+")
_HEADER = pattern(r"(?i)authorization:\s*(?:bearer|token|basic)\s+(?P<token>[A-Za-z0-9._~+/=-]{16,})")

_ENDS = pattern(
    r"(^|_)(PASSWORD|PASSWD|PASSPHRASE|PWORD|SECRET|SECRET_KEY|SECRET_ACCESS_KEY|API_KEY|APIKEY|API_SECRET|TOKEN|"
    r"AUTH_TOKEN|ACCESS_TOKEN|ACCESS_KEY|PRIVATE_KEY|CREDENTIALS?|PAT|API_TOKEN|DEPLOY_KEY|SSH_KEY|ENCRYPTION_KEY|"
    r"CONNECTION_STRING)$|(PASSWORD|APIKEY|APITOKEN|SECRETKEY)$"
)
# Words of a model's vocabulary, of limits and of switches that stand in front of such an end.
_NO_SECRET = frozenset(
    "MAX MIN NUM PER PAD EOS BOS UNK SEP CLS MASK STOP START END SPECIAL IMAGE NEXT FIRST LAST DEFAULT USE REQUIRE ENABLE "
    "DISABLE ALLOW NO SKIP HAS IS VALIDATE CHECK CACHE INPUT OUTPUT PROMPT PUBLIC HASH EMPTY NEW TTL BLANK APPLICATION".split()
)
_STAND_IN = pattern(
    r"(?i)^(<.*>|\[.*\]|\{\{.*\}\}|\.{3,}|x{3,}.*|\*+|-+|_+|true|false|yes|no|on|off|none|null|nil|unset|undefined|empty|"
    r"todo.*|fixme.*|dummy.*|fake.*|sample.*|test|tbd|n/?a|[0-9]{1,5}|(hf|sk|ghp|nvapi)[-_]?[x.*]+|"
    r".*(\byour|_your|change[-_ ]?(me|this|it)|replace[-_ ]?(me|this|with)|\b(insert|enter|put|add)[-_ ]|redacted|"
    r"placeholder|not[-_]?(set|used|needed|real)|optional|secret[-_]?here|goes[-_]?here|example).*)$"
)
# A place where a secret lies, not the secret.
_PLACE = pattern(r"^(~?/|\.\.?/|[a-z][a-z0-9+.-]*://).*|.*\.(json|pem|key|txt|env|ya?ml|p12|crt|cfg|toml)$")
_PREFIX = pattern(r"(hf_|gh._|github_pat_|nvapi-|sk-(proj-|ant-)?|glpat-|AKIA|ASIA)")
_ASKS = pattern(r"(?i)your|xxxx|replace|insert|change|goes[-_]?here|\.\.\.")


class Found(Struct, frozen=True):
    """A secret in a text: what it is, and where."""

    what: str
    start: int
    end: int


def tokens(text: str) -> Iterator[Found]:
    """Texts in the shape of a service's tokens."""
    if not any(mark in text for mark in _MARKS):
        return
    for match in _TOKEN.finditer(text):
        if match.lastgroup and _varied(match[0]):
            yield Found(_SHAPES[int(match.lastgroup[1:])][0], match.start(), match.end())


def _varied(token: str) -> bool:
    """Whether it is not `hf_xxxxxxxx…` or `sk-your-key-…`."""
    tail = _PREFIX.sub("", token)
    return token.startswith("-----") or (len(set(tail.lower())) > 5 and not _ASKS.search(tail))


def passwords(text: str) -> Iterator[Found]:
    """Passwords in URLs, `https://user:password@host`, and tokens in headers, `Authorization: Bearer …`."""
    if "uthorization:" in text:
        for match in _HEADER.finditer(text):
            if _varied(match["token"]):
                yield Found("a token in a header", match.start("token"), match.end("token"))
    if "://" not in text or "@" not in text:
        return
    for match in _URL.finditer(text):
        word = match["password"]
        plain = "$" not in word and "{" not in word and "<" not in word
        if (
            plain
            and not is_stand_in(word)
            and word.lower() not in (match["user"].lower(), "password", "pass", "pwd", "token")
        ):
            yield Found("a password in a URL", match.start("password"), match.end("password"))


def names_secret(name: str) -> bool:
    """Whether a variable of this name holds a secret; not `PAD_TOKEN`, `MAX_TOKEN`, `USE_AUTH_TOKEN`."""
    upper = name.upper()
    end = _ENDS.search(upper)
    if end is None:
        return False
    head = upper[: end.start()].split("_")
    return not {head[0], head[-1]} & _NO_SECRET


def is_stand_in(value: str) -> bool:
    """Whether a value only says that something goes there, or switches something."""
    text = value.strip().strip("'\"").strip()
    return not text or _STAND_IN.match(text) is not None or _PLACE.match(text) is not None
