#!/usr/bin/env bash
# Refusals are problem details with a stable code and a pointer, and they leave nothing behind.
source "$(dirname "$0")/lib.sh"

new_session
empty() {
    call 200 GET "$session"
    has '"entry_count":0'
}

call 422 POST "$session/entries" '{"format":"klingon","items":[]}'
has '"code":"validation_failed"' '"pointer":"/format"'
call 422 POST "$session/entries" '{"format":"openai_chat","items":[{"role":"user","content":"hi"},{"role":"user","content":7}]}'
has '"pointer":"/items/1'
call 422 POST "$session/entries" '{"format":"openai_chat"}'
has '"pointer":"/items"'
call 400 POST "$session/entries" '{"format":'
has '"code":"malformed_json"'
empty

call 422 PATCH "$session" '{"settings":{"red_at":2}}'
has '"pointer":"/settings/red_at"'
call 404 GET /v1/sessions/01890a5d-ac96-774b-bcce-b302099a8057
has '"code":"not_found"'
call 404 GET /v1/nothing

call 201 POST "$session/entries" '{"format":"openai_chat","items":[{"role":"user","content":"hi"}]}' 'idempotency-key: once'
call 201 POST "$session/entries" '{"format":"openai_chat","items":[{"role":"user","content":"hi"}]}' 'idempotency-key: once'
call 422 POST "$session/entries" '{"format":"openai_chat","items":[{"role":"user","content":"ho"}]}' 'idempotency-key: once'
has '"code":"idempotency_key_reused"'
call 409 POST "$session/entries" '{"format":"openai_chat","items":[{"role":"user","content":"hi"}],"expected_leaf_id":null}'
has '"code":"leaf_moved"'
call 200 GET "$session"
has '"entry_count":1'

call 200 POST "$session/compact" '{"wait":30}'
has '"status":"skipped"' '"skip_reason":"nothing_to_compact"'
