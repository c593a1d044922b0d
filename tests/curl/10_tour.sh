#!/usr/bin/env bash
# The main job: post a transcript, see it fill, compact it, rebuild it.
source "$(dirname "$0")/lib.sh"

new_session '{"title":"Tour","system":"You are helpful.","settings":{"enabled":false,"context_window":20000,"reserve_tokens":2000,"keep_recent_tokens":400}}'
has '"title":"Tour"' '"state":"green"'

for n in $(seq 1 12); do
    output=$(printf 'line %s of the file ' $(seq 1 80))
    call 201 POST "$session/entries" '{"format":"openai_chat","items":[
        {"role":"user","content":"Request '"$n"': look at src/file_'"$n"'.rs"},
        {"role":"assistant","content":null,"tool_calls":[{"id":"call_'"$n"'","type":"function","function":{"name":"read","arguments":"{\"path\":\"src/file_'"$n"'.rs\"}"}}]},
        {"role":"tool","tool_call_id":"call_'"$n"'","content":"'"$output"'"},
        {"role":"assistant","content":"Done with '"$n"'."}]}'
    has '"leaf_id"' '"warnings":[]'
done

call 200 GET "$session/snapshot"
before=$(field tokens)
has '"source":"estimate"' '"breakdown"' '"utilization"'

call 200 POST "$session/prepare" '{"settings":{"enabled":true}}'
has '"possible":true' '"first_kept_entry_id"' '"messages_to_summarize"'

call 200 POST "$session/compact" '{"wait":60}'
has '"status":"succeeded"' '"tokens_before"' '"identifiers"'

call 200 GET "$session/snapshot"
after=$(field tokens)
[ "$after" -lt "$before" ] || { echo "$before tokens before, $after after" >&2; exit 1; }

for format in openai_chat openai_responses anthropic gemini native pi; do
    call 200 POST "$session/rebuild" '{"format":"'$format'"}'
    has 'Request 1: look at src/file_1.rs' 'Done with 12.' '<context-summary>'
    lacks 'Request 3: look at src/file_3.rs","'
done

call 200 GET "$session/tool-calls?limit=200"
for n in $(seq 1 12); do
    has "\"call_$n\""
done
call 200 GET "$session/tool-calls/call_2"
has 'line 80 of the file'
call 200 GET "$session/files"
has 'src/file_1.rs' 'src/file_12.rs'
call 200 GET "$session/entries?limit=200"
has 'Request 7' '"type":"compaction"'

# The whole transcript instead of what is new in it.
new_session
call 200 PUT "$session/transcript" '{"format":"openai_chat","items":[{"role":"user","content":"hi"}],"system":"be brief"}'
has '"appended":1' '"matched":0' '"forked":false'
call 200 PUT "$session/transcript" '{"format":"openai_chat","items":[{"role":"user","content":"hi"},{"role":"assistant","content":"hello"}],"return_context":"anthropic"}'
has '"appended":1' '"matched":1' '"context":'
call 200 PUT "$session/transcript" '{"format":"openai_chat","items":[{"role":"user","content":"ho"}]}'
has '"appended":1' '"matched":0' '"forked":true'
call 200 GET "$session"
has '"entry_count":3'
