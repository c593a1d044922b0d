"""PraisonAI's context compactor. Its 8,000 tokens are the window here, and its target of 6,000 three quarters of that, as they are there."""

import importlib.metadata
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from line import serve  # noqa: E402
from openai import AsyncOpenAI  # noqa: E402
from praisonaiagents.compaction import CompactionConfig, CompactionStrategy, ContextCompactor  # noqa: E402


class Session:
    def __init__(self, model_url, strategy):
        self.model_url, self.strategy = model_url, CompactionStrategy(strategy)
        self.version = importlib.metadata.version("praisonaiagents")

    async def summarise(self, prompt):
        async with AsyncOpenAI(base_url=self.model_url, api_key="none") as client:
            answer = await client.chat.completions.create(model="played", messages=[{"role": "user", "content": prompt}])
        return answer.choices[0].message.content

    def start(self, system, window):
        config = CompactionConfig(max_tokens=window, target_tokens=window * 3 // 4)
        self.compactor = ContextCompactor(config=config, strategy=self.strategy, llm_summarize_fn=self.summarise)
        # When it is time is the bench's to say, the same for everybody.
        self.compactor.max_tokens = 1
        self.system = [{"role": "system", "content": system}] if system else []
        self.messages = []

    def compact(self, messages):
        self.messages += messages
        compacted, _ = self.compactor.compact(self.system + self.messages)
        self.messages = compacted[len(self.system) :]
        known = ("role", "content", "tool_calls", "tool_call_id")
        return [{key: message[key] for key in known if key in message} for message in self.messages]


if __name__ == "__main__":
    serve(Session)
