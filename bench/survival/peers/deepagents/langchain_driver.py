"""LangChain's own summarization middleware: the last 20 messages kept, 4,000 tokens of the others shown to the model."""

import importlib.metadata
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from langchain.agents.middleware import SummarizationMiddleware  # noqa: E402
from langchain_core.messages import RemoveMessage  # noqa: E402
from langchain_messages import to_chat, to_langchain  # noqa: E402
from langchain_openai import ChatOpenAI  # noqa: E402
from line import serve  # noqa: E402


class Session:
    def __init__(self, model_url):
        self.model = ChatOpenAI(model="played", base_url=model_url, api_key="none", use_responses_api=False)
        self.version = importlib.metadata.version("langchain")

    def start(self, system, window):
        self.middleware = SummarizationMiddleware(model=self.model, trigger=("tokens", 1))
        self.messages, self.count = [], 0

    def compact(self, messages):
        for message in messages:
            self.messages.append(to_langchain(message, self.count))
            self.count += 1
        update = self.middleware.before_model({"messages": self.messages}, None)
        if update:
            self.messages = [m for m in update["messages"] if not isinstance(m, RemoveMessage)]
        return [to_chat(message) for message in self.messages]


if __name__ == "__main__":
    serve(Session)
