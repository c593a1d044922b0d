#!/bin/sh
# Generates a Python client from a running service's OpenAPI document (PyPI `openapi-python-client`) and takes one turn.
#
#     contextd serve --dev --listen 127.0.0.1:8080 &
#     tests/clients/generated_python.sh http://127.0.0.1:8080 [KEY]
#
# CLIENT_ENV names a virtual environment that has the generator already.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
env=${CLIENT_ENV:-$work/env}
[ -x "$env/bin/openapi-python-client" ] || {
    python3 -m venv "$env"
    "$env/bin/pip" install --quiet openapi-python-client
}
"$env/bin/python" - "$1" "$work/openapi.json" <<'FETCH'
import sys, urllib.request
open(sys.argv[2], "wb").write(urllib.request.urlopen(sys.argv[1] + "/openapi.json").read())
FETCH
echo "package_name_override: contextd_client" >"$work/config.yaml"
PATH="$env/bin:$PATH" "$env/bin/openapi-python-client" generate --path "$work/openapi.json" --config "$work/config.yaml" \
    --meta none --output-path "$work/contextd_client" 2>"$work/warnings" >&2 || { cat "$work/warnings"; exit 1; }
echo "python: $(grep -c '^WARNING' "$work/warnings" || true) warnings of the generator"
grep -A6 '^WARNING' "$work/warnings" | head -${WARNINGS:-0}
PYTHONPATH="$work" "$env/bin/python" "$here/python_client.py" "$@"
