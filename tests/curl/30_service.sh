#!/usr/bin/env bash
# What an operator looks at.
source "$(dirname "$0")/lib.sh"

call 200 GET /healthz
call 200 GET /readyz
call 200 GET /openapi.json
has '"openapi":"3.1' '/v1/sessions/{sid}/compact' '/v1/sessions/{sid}/rebuild'
new_session '{"external_id":"curl-30"}'
call 201 POST "$session/entries" '{"format":"anthropic","items":[{"role":"user","content":"a secret word: xyzzy"}]}'
call 200 GET /metrics
has contextd_
lacks xyzzy
call 200 GET '/v1/sessions?external_id=curl-30'
has "${session##*/}"
call 200 POST /v1/count '{"format":"openai_chat","items":[{"role":"user","content":"hello there"}]}'
has '"tokens":' '"per_item":['
call 204 DELETE "$session"
call 404 GET "$session"
call 200 POST /v1/lint '{"format":"openai_chat","items":[{"role":"user","content":"hi"}]}'
has '"valid":true' '"violations":[]' '"diff":[]'
call 200 POST /v1/lint '{"format":"openai_chat","items":[{"role":"user","content":"hi"},{"role":"tool","tool_call_id":"x","content":"1"}]}'
has '"valid":false' '"code":"orphan_result"' '"index":1' '"op":"remove"'
call 422 POST /v1/lint '{"format":"openai_chat","items":[7]}'
has '"pointer":"/items/0"'
call 200 POST /v1/compact '{"format":"openai_chat","items":[{"role":"user","content":"hi"}]}'
has '"skip_reason":"' '"messages":[{"role":"user","content":"hi"}]'
call 422 POST /v1/compact '{"format":"openai_chat","items":[],"settings":{"red_at":7}}'
has '"pointer":"/settings/red_at"'
