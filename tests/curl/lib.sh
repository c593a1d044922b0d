# Sourced by the scripts beside it. CONTEXTD is the server's address; needs bash and curl only.
set -euo pipefail
: "${CONTEXTD:?the address of a running contextd, such as http://127.0.0.1:8080}"

checks=0
trap 'echo "$(basename "$0"): $checks checks"' EXIT

# call STATUS METHOD PATH [BODY [HEADER…]]: sends a request, wants that status, leaves the answer in $body.
call() {
    local want=$1 method=$2 path=$3 data=${4-} answer
    local args=(-sS -X "$method" -w '\n%{http_code}')
    if [ -n "$data" ]; then
        args+=(-H 'content-type: application/json' --data-binary "$data")
    fi
    local header
    for header in "${@:5}"; do
        args+=(-H "$header")
    done
    answer=$(curl "${args[@]}" "$CONTEXTD$path")
    body=${answer%$'\n'*}
    checks=$((checks + 1))
    if [ "${answer##*$'\n'}" != "$want" ]; then
        echo "$method $path: wanted $want, got ${answer##*$'\n'}: $body" >&2
        exit 1
    fi
}

# has TEXT…: each stands in $body.
has() {
    local text
    for text in "$@"; do
        checks=$((checks + 1))
        if [[ $body != *"$text"* ]]; then
            echo "not in the answer: $text" >&2
            echo "$body" >&2
            exit 1
        fi
    done
}

# lacks TEXT…: none stands in $body.
lacks() {
    local text
    for text in "$@"; do
        checks=$((checks + 1))
        if [[ $body == *"$text"* ]]; then
            echo "in the answer: $text" >&2
            exit 1
        fi
    done
}

# field NAME: the first string or number of that name in $body.
field() {
    sed -nE "s/^[^\n]*/&/; s/.*/&/; s/\"$1\":/\n&/; s/^[^\n]*\n\"$1\":\"?([^\",}]*).*/\1/p" <<<"$body" | head -n 1
}

# new_session [BODY]: makes a session and leaves its path in $session.
new_session() {
    call 201 POST /v1/sessions "${1:-"{}"}"
    session=/v1/sessions/$(field id)
}
