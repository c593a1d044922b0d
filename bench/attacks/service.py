"""The service as a process of its own, with a tenant for each side, and what of it can be seen from outside."""
import http.client
import json
import os
import re
import subprocess
import tempfile
import time

MEGABYTE = 1024 * 1024


class Service:
    def __init__(self, binary, keep_log=None):
        self.binary = os.path.abspath(binary)
        self.folder = tempfile.TemporaryDirectory(prefix="contextd-attacks-")
        self.data = os.path.join(self.folder.name, "data")
        self.log = open(keep_log or os.path.join(self.folder.name, "log"), "w")
        environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
        environment |= {"MIMALLOC_PURGE_DELAY": "3", "MIMALLOC_ARENA_EAGER_COMMIT": "0"}
        # Nobody listens there: what the proxy lets out goes nowhere.
        nowhere = "http://127.0.0.1:9/v1"
        environment |= {"CONTEXTD_PROXY": "true", "CONTEXTD_PROXY_OPENAI_BASE_URL": nowhere,
                        "CONTEXTD_PROXY_ANTHROPIC_BASE_URL": nowhere}
        command = [self.binary, "serve", "--listen", "127.0.0.1:0", "--data-dir", self.data]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, text=True, env=environment)
        line = self.process.stdout.readline()
        found = re.search(r"http://([\d.]+):(\d+)", line)
        if not found:
            raise SystemExit(f"the service did not start: {line}")
        self.host, self.port = found.group(1), int(found.group(2))

    def key(self, tenant, scope="write"):
        command = [self.binary, "keys", "create", "--tenant", tenant, "--scope", scope, "--data-dir", self.data]
        environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
        return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout.strip()

    def memory(self):
        """Resident megabytes now, and at the peak since the last `forget_peak`."""
        with open(f"/proc/{self.process.pid}/status") as status:
            text = status.read()
        figure = lambda name: int(re.search(name + r":\s+(\d+)", text).group(1)) / 1024
        return figure("VmRSS"), figure("VmHWM")

    def processor_time(self):
        """Seconds that the process has used so far."""
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def wait_until_idle(self):
        """Waits until what was begun for others has ended: it uses less than a tenth of a processor."""
        for _ in range(120):
            before = self.processor_time()
            time.sleep(1)
            if self.processor_time() - before < 0.1:
                return

    def forget_peak(self):
        with open(f"/proc/{self.process.pid}/clear_refs", "w") as refs:
            refs.write("5")

    def disk(self):
        """Megabytes of the database's tables."""
        total = 0
        for folder, _, files in os.walk(os.path.join(self.data, "postgres", "base")):
            for name in files:
                try:
                    total += os.stat(os.path.join(folder, name)).st_size
                except OSError:
                    pass
        return total / MEGABYTE

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
        self.folder.cleanup()


def call(at, key, method, path, body=None, headers=None, timeout=600):
    """Status and body of one request."""
    connection = http.client.HTTPConnection(*at, timeout=timeout)
    head = {"authorization": f"Bearer {key}"} | (headers or {})
    data = None
    if body is not None:
        data = body if isinstance(body, (bytes, str)) else json.dumps(body)
        head["content-type"] = "application/json"
    try:
        connection.request(method, path, data, head)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def session(at, key, settings=None):
    status, body = call(at, key, "POST", "/v1/sessions", {"settings": settings or {"enabled": False}})
    if status != 201:
        raise SystemExit(f"no session: {status} {body[:300]}")
    return "/v1/sessions/" + json.loads(body)["id"]

