"""contextd itself, started on a port and in a folder of its own."""

import os
import re
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def find_binary(given=None):
    """The executable: as given, as built for release or for development, newest first."""
    if given:
        return Path(given)
    target = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
    built = [path for path in (target / "release/contextd", target / "debug/contextd") if path.exists()]
    return max(built, key=lambda path: path.stat().st_mtime) if built else None


class Server:
    """A running service with its embedded database; `model_url` is asked for summaries by the upstream `played`, at these prices."""

    def __init__(self, binary, model_url, model, prices=(3.0, 15.0)):
        self.folder = tempfile.TemporaryDirectory(prefix="survival-")
        config = Path(self.folder.name) / "contextd.toml"
        config.write_text(
            '[[upstreams]]\nname = "default"\nkind = "builtin"\n\n'
            f'[[upstreams]]\nname = "played"\nkind = "openai"\nmodel = "{model}"\nbase_url = "{model_url}"\napi_key = "none"\n'
            f"context_window = 128000\nprice_input_per_mtok = {prices[0]}\nprice_output_per_mtok = {prices[1]}\n"
        )
        environment = {k: v for k, v in os.environ.items() if k != "DATABASE_URL" and not k.startswith("CONTEXTD_UPSTREAM")}
        environment |= {"MIMALLOC_PURGE_DELAY": "3", "MIMALLOC_ARENA_EAGER_COMMIT": "0"}
        self.log = open(Path(self.folder.name) / "contextd.log", "w")
        self.process = subprocess.Popen(
            [str(binary), "serve", "--dev", "--listen", "127.0.0.1:0", "--config", str(config), "--data-dir", self.folder.name],
            stdout=subprocess.PIPE, stderr=self.log, text=True, env=environment, start_new_session=True,
        )
        self.base = self.address()

    def address(self):
        for line in self.process.stdout:
            if found := re.search(r"listening on (http://\S+)", line):
                return found.group(1)
        raise RuntimeError(f"contextd did not start: {Path(self.log.name).read_text()[-2000:]}")

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.log.close()
        self.folder.cleanup()
