"""Deep Agents' summarization middleware, with the thresholds that it picks itself for a model of the window's size.

Its history file is what it offers to recall from: one `grep` of it, as its file tools have one, for the longest word of a cue.
"""

import importlib.metadata
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from deepagents.backends import FilesystemBackend  # noqa: E402
from deepagents.middleware.summarization import SummarizationMiddleware, compute_summarization_defaults  # noqa: E402
from langchain.agents.middleware.types import ExtendedModelResponse, ModelRequest, ModelResponse  # noqa: E402
from langchain_core.messages import AIMessage, SystemMessage  # noqa: E402
from langchain_messages import to_chat, to_langchain  # noqa: E402
from langchain_openai import ChatOpenAI  # noqa: E402
from line import serve  # noqa: E402


class Session:
    def __init__(self, model_url):
        self.model_url = model_url
        self.version = importlib.metadata.version("deepagents")

    def start(self, system, window):
        self.folder = tempfile.TemporaryDirectory()
        self.backend = FilesystemBackend(root_dir=self.folder.name, virtual_mode=True)
        profile = {"max_input_tokens": window}
        self.model = ChatOpenAI(model="played", base_url=self.model_url, api_key="none", profile=profile, use_responses_api=False)
        defaults = compute_summarization_defaults(self.model)
        # Its own defaults, but for the trigger: when it is time is the bench's to say, the same for everybody.
        self.middleware = SummarizationMiddleware(
            model=self.model, backend=self.backend, trigger=("tokens", 1), keep=defaults["keep"],
            trim_tokens_to_summarize=None, truncate_args_settings=defaults["truncate_args_settings"],
        )
        self.system = SystemMessage(system) if system else None
        self.messages, self.state, self.count = [], {}, 0

    def compact(self, messages):
        for message in messages:
            self.messages.append(to_langchain(message, self.count))
            self.count += 1
        shown = []

        def model_call(request):
            shown[:] = request.messages
            return ModelResponse(result=[AIMessage("ok")])

        state = {**self.state, "messages": self.messages}
        request = ModelRequest(
            model=self.model, messages=self.messages, system_message=self.system, tools=[], tool_choice=None,
            response_format=None, state=state, runtime=None,
        )
        answer = self.middleware.wrap_model_call(request, model_call)
        if isinstance(answer, ExtendedModelResponse) and answer.command:
            self.state.update({key: value for key, value in answer.command.update.items() if key != "messages"})
        return [to_chat(message) for message in shown]

    def recover(self, cue, context):
        word = max(cue.split(), key=len)
        found = self.backend.grep(word, path="/conversation_history")
        matches = getattr(found, "matches", found) or []
        return "\n".join(str(m["text"] if isinstance(m, dict) else m) for m in matches)[:20_000]


if __name__ == "__main__":
    serve(Session)
