"""A made-up session that grows turn by turn, the same in every run."""

import hashlib
import random

from .transcripts import Message, Transcript, assistant, call, result, user

SOURCE = "truth"


class Session:
    def __init__(self, name, system="You are an agent with tools."):
        self.name, self.system, self.messages, self.calls = name, system, [], 0
        self.draw = random.Random(int(hashlib.sha256(name.encode()).hexdigest()[:12], 16))

    def word(self, syllables=3):
        return "".join(self.draw.choice("bdfgklmnprstvz") + self.draw.choice("aeiou") for _ in range(syllables))

    def code(self):
        return f"{self.draw.choice('KLMQRTVX')}{self.draw.choice('BDFGJPWZ')}-{self.draw.randrange(1_000, 9_999)}"

    def user(self, text, name=None):
        said = user(text, len(self.messages))
        if name:
            said.chat["name"] = name
        self.messages.append(said)

    def agent(self, text):
        self.messages.append(assistant(text, [], len(self.messages)))

    def run(self, tool, arguments, output, words=None):
        self.calls += 1
        identifier = "call_" + hashlib.sha256(f"{self.name}{self.calls}".encode()).hexdigest()[:12]
        self.messages.append(assistant(words, [call(identifier, tool, arguments)], len(self.messages)))
        self.messages.append(result(identifier, output, len(self.messages)))

    def page(self, lines):
        return "\n".join(f"{self.word()} {self.word()}: {self.word()} {self.draw.randrange(9_999)}" for _ in range(lines))

    def transcript(self, questions):
        return Transcript(SOURCE, self.name, self.system, [Message(m.chat, m.origin) for m in self.messages], questions)
