"""The attacks, by name. Each is made of clients, which repeat one request; a key of one tenant is all that they need."""
import dataclasses
import json
import random

import bodies
from service import call, session

MEGABYTE = 1024 * 1024


@dataclasses.dataclass
class Client:
    """One who sends a request again and again. `{session}` in its path is a new session each time."""
    # Empty: another one each time, which nobody has.
    key: str
    method: str
    path: str
    body: bytes = b""
    headers: dict = dataclasses.field(default_factory=dict)
    # Seconds after which it goes away, without an answer; 0: it waits.
    patience: float = 0
    # Bytes that it reads in a second; 0: as fast as they come.
    pace: int = 0
    # It sends an `Idempotency-Key` of its own with each request.
    keyed: bool = False


def posted(form, items):
    return json.dumps({"format": form, "items": items}).encode()


def calls(at, keys, count, form, clients):
    """One answer with so many calls; in Responses each is an item of its own, so that fewer fit."""
    if form == "openai_responses":
        count = min(count, 19_000)
    body = posted(form, bodies.calls(form, count))
    one = Client(keys["loud"], "PUT", "{session}/transcript", body)
    return [one for _ in range(clients)]


def forks(at, keys):
    path = session(at, keys["loud"])
    call(at, keys["loud"], "PUT", f"{path}/transcript", posted("openai_chat", bodies.calls("openai_chat", 200_000)))
    return [Client(keys["loud"], "POST", f"{path}/fork", b"{}") for _ in range(4)]


def lints(at, keys, shape, form, count):
    """Clients that ask for a lint of 8 to 14 MB and go away."""
    body = posted(form, shape(form, count))
    return [Client(keys["reader"], "POST", "/v1/lint", body, patience=2) for _ in range(4)]


def contexts(at, keys, clients=30, megabytes=100):
    """A large session's context, asked for by clients that read it slowly."""
    path = session(at, keys["loud"])
    text = "one word after another, and so on and on. " * (MEGABYTE // 42)
    for _ in range(megabytes // 10):
        items = [bodies.user("openai_chat", text) for _ in range(10)]
        call(at, keys["loud"], "POST", f"{path}/entries", posted("openai_chat", items))
    get = f"{path}/context?format=openai_chat"
    return [Client(keys["reader"], "GET", get, pace=64 * 1024) for _ in range(clients)]


def rebuilds(at, keys):
    """Rebuilds under ever new idempotency keys."""
    path = session(at, keys["loud"])
    # What a database can't make smaller.
    items = [bodies.user("openai_chat", random.randbytes(120_000).hex()) for _ in range(10)]
    call(at, keys["loud"], "POST", f"{path}/entries", posted("openai_chat", items))
    body = json.dumps({"format": "anthropic"}).encode()
    return [Client(keys["reader"], "POST", f"{path}/rebuild", body, keyed=True) for _ in range(4)]


def made_up_keys(at, keys, path):
    """Small requests with keys that nobody has, each another one."""
    return [Client("", "POST", path, b"{}", patience=5) for _ in range(16)]


def unread_bodies(at, keys):
    """Bodies of 14 MB that are refused by their key before they are read."""
    body = posted("openai_chat", wordy_users("openai_chat", 25_000))
    return [Client("ctx_nobody", "POST", "/v1/sessions", body, patience=5) for _ in range(8)]


def ways_out(at, keys):
    """Small requests to the proxy whose paths lead out of a provider's."""
    paths = ["/openai/v1/../../../admin", "/openai/v1/%2e%2e/admin", "/openai/v1/..\\admin", "/anthropic/v1/..;/admin"]
    return [Client(keys["loud"], "POST", path, b"{}", patience=5) for path in paths]


ATTACKS = {
    "ways-out": ways_out,
    "made-up-keys": lambda at, keys: made_up_keys(at, keys, "/v1/sessions"),
    "unread-bodies": unread_bodies,
    "nothing": lambda at, keys: [],
    "calls-60000": lambda at, keys: calls(at, keys, 60_000, "openai_chat", 3),
    "calls-200000": lambda at, keys: calls(at, keys, 200_000, "openai_chat", 2),
    "forks": forks,
    "lint-calls": lambda at, keys: lints(at, keys, bodies.calls, "openai_chat", 130_000),
    "lint-users": lambda at, keys: lints(at, keys, wordy_users, "openai_chat", 19_000),
    "lint-parts": lambda at, keys: lints(at, keys, bodies.broken_parts, "anthropic", 1_000_000),
    "slow-readers": contexts,
    "new-keys": rebuilds,
} | {f"calls-{form}": lambda at, keys, form=form: calls(at, keys, 60_000, form, 3)
     for form in bodies.FORMATS if form != "openai_chat"}


def wordy_users(form, n):
    return [bodies.user(form, f"{index} " + "one word after another. " * 20) for index in range(n)]
