"""The peers: where each is installed, and how it is started. One environment each, so that none minds the others' versions."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from .participants import Peer

HERE = Path(__file__).resolve().parents[1]
ROOT = HERE.parents[1]
# A busy machine may be too slow for a library once.
TRIES = 2


class NotRun(RuntimeError):
    """Why a peer takes no part."""


@dataclass
class Known:
    name: str
    folder: str
    driver: str = "driver.py"
    options: dict = field(default_factory=dict)
    recall: bool = False
    python: tuple = (3, 11)


KNOWN = [
    Known("pi", "pi", "driver.mjs"),
    Known("Deep Agents", "deepagents", recall=True),
    Known("LangChain", "deepagents", "langchain_driver.py"),
    Known("OpenHands", "openhands", python=(3, 12)),
    Known("PraisonAI truncate", "praisonai", options={"strategy": "truncate"}),
    Known("PraisonAI llm_summarize", "praisonai", options={"strategy": "llm_summarize"}),
    Known("pydantic-ai-harness", "pydantic_ai"),
]


def room():
    """Where environments are kept between runs."""
    given = os.environ.get("SURVIVAL_DIR")
    return Path(given) if given else Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target") / "survival"


def interpreter(least):
    """A Python that is new enough and runs: this one, or another on the path or among pyenv's."""
    if sys.version_info[:2] >= least:
        return sys.executable
    names = [shutil.which(f"python3.{minor}") for minor in range(least[1], 16)]
    candidates = [name for name in names if name] + sorted(str(path) for path in Path.home().glob(".pyenv/versions/3.*/bin/python"))
    return next((path for path in candidates if runs(path, least)), None)


def runs(path, least):
    code = f"import sys, venv; sys.exit(sys.version_info[:2] < {least})"
    return subprocess.run([path, "-c", code], capture_output=True).returncode == 0


def fresh(folder, wanted):
    """Whether an environment was made from just this list of packages."""
    stamp = folder / "made-from"
    return stamp.exists() and stamp.read_text() == wanted


def run(command, cwd=None):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        said = [line for line in (done.stderr or done.stdout).strip().splitlines() if line.strip()]
        raise NotRun(f"could not be installed: {(said or ['no reason given'])[-1][:200]}")


def install_python(known, folder):
    requirements = HERE / "peers" / known.folder / "requirements.txt"
    wanted = hashlib.sha256(requirements.read_bytes()).hexdigest()
    python = interpreter(known.python)
    if python is None:
        raise NotRun(f"needs Python {'.'.join(map(str, known.python))}, and this machine has {sys.version_info[0]}.{sys.version_info[1]}")
    if not fresh(folder, wanted):
        shutil.rmtree(folder, ignore_errors=True)
        run([python, "-m", "venv", str(folder)])
        run([str(folder / "bin/pip"), "install", "-q", "--disable-pip-version-check", "-r", str(requirements)])
        (folder / "made-from").write_text(wanted)
    return [str(folder / "bin/python"), str(HERE / "peers" / known.folder / known.driver)]


def install_node(known, folder):
    if not shutil.which("npm"):
        raise NotRun("needs Node and npm")
    packages = HERE / "peers" / known.folder / "package.json"
    wanted = hashlib.sha256(packages.read_bytes()).hexdigest()
    if not fresh(folder, wanted):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        shutil.copy(packages, folder)
        run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=folder)
        (folder / "made-from").write_text(wanted)
    return ["node", str(HERE / "peers" / known.folder / known.driver), str(folder)]


def installed(known):
    """The command that starts a peer's driver; the peer is installed first where it is not."""
    folder = room() / known.folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    return (install_node if known.driver.endswith(".mjs") else install_python)(known, folder)


def start(known, model_url):
    command = installed(known)
    for attempt in range(TRIES):
        try:
            return Peer(known.name, command, model_url, known.options, known.recall)
        except (RuntimeError, OSError, json.JSONDecodeError) as error:
            if attempt + 1 == TRIES:
                raise NotRun(f"did not start: {str(error).strip().splitlines()[-1][:200]}") from error
