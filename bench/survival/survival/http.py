"""JSON over a kept connection, with the standard library alone."""

import http.client
import json
from urllib.parse import urlsplit


class Refused(RuntimeError):
    def __init__(self, status, body):
        super().__init__(f"{status}: {body[:400]!r}")
        self.status = status


class Client:
    def __init__(self, base, timeout=180):
        parts = urlsplit(base)
        self.base, self.prefix, self.timeout = base, parts.path.rstrip("/"), timeout
        self.connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json"} if data else {}
        for attempt in range(2):
            try:
                self.connection.request(method, self.prefix + path, data, headers)
                answer = self.connection.getresponse()
                text = answer.read()
                break
            except (http.client.HTTPException, ConnectionError):
                self.connection.close()
                if attempt:
                    raise
        if answer.status >= 400:
            raise Refused(answer.status, text.decode(errors="replace"))
        return json.loads(text) if text else None

    def get(self, path):
        return self.call("GET", path)

    def post(self, path, body):
        return self.call("POST", path, body)
