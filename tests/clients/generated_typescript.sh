#!/bin/sh
# Generates TypeScript types from a running service's OpenAPI document (npm `openapi-typescript`), checks a client over
# them with the compiler, and takes one turn (npm `openapi-fetch`).
#
#     contextd serve --dev --listen 127.0.0.1:8080 &
#     tests/clients/generated_typescript.sh http://127.0.0.1:8080 [KEY]
#
# CLIENT_MODULES names a folder whose node_modules has the packages already.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
echo '{"type":"module"}' >package.json
if [ -n "${CLIENT_MODULES:-}" ]; then
    ln -s "$CLIENT_MODULES/node_modules" node_modules
else
    npm install --silent --no-fund --no-audit openapi-typescript@7 openapi-fetch@0 typescript@5 @types/node@20 esbuild@0
fi
node_modules/.bin/openapi-typescript "$1/openapi.json" -o contextd.d.ts >generated.log 2>&1 || { cat generated.log; exit 1; }
cp "$here/typescript_client.ts" client.ts
node_modules/.bin/tsc --noEmit --strict --target es2022 --module esnext --moduleResolution bundler --types node client.ts
echo "typescript: $(wc -l <contextd.d.ts) lines of types, checked"
node_modules/.bin/esbuild client.ts --bundle --platform=node --format=esm --outfile=client.mjs --log-level=warning
node client.mjs "$@"
