"""Made-up sessions, so that the scoreboard runs where no recordings are: a bare clone says something too, if less.

Three agents at work, drawn from lists of words with a fixed seed. The rules of their users are marked as they are written.
"""

import hashlib
import json
import random

TRADES = {
    "parser": ("Rust", "rs", "cargo test -q", "the parser of the configuration", "lexer parser printer token visitor span error".split()),
    "billing": ("Python", "py", "pytest -q", "the billing service", "invoice ledger refund customer tax export report".split()),
    "board": ("TypeScript", "ts", "npm test --silent", "the task board", "column card filter drag store theme sync".split()),
}
RULES = (
    "Do not change the public API of {module}.",
    "Use tabs, not spaces, in {path}.",
    "Keep every function under {number} lines.",
    "Never run the migration on the host {host}.",
    "From now on name new tests check_{module}_something.",
    "I prefer plain loops to {word} chains.",
    "We have to be done by the {number}th, and it may not cost more than {number} dollars a month.",
    "IMPORTANT: {path} belongs to another team, leave it alone.",
    "Answer in one paragraph, without lists.",
    "No, not {module}: I meant {word}.",
)
REQUESTS = (
    "Find out why {module} fails on empty input.",
    "Now add the missing case to {module}.",
    "How long does the {module} benchmark take?",
    "Move the constants of {module} to {path}.",
    "Write a test for the {word} case.",
    "Look at ticket {ticket} and do what it asks for {module}.",
)
ERRORS = ("ValueError: unexpected end of input", "TypeError: cannot read property of undefined", "panicked at index out of bounds", "KeyError: missing field")


class Session:
    def __init__(self, name):
        self.name, self.draw = name, random.Random(name)
        self.language, self.extension, self.test, self.topic, self.modules = TRADES[name]
        self.items, self.labels, self.calls, self.known = [], [], 0, []

    def word(self):
        return "".join(self.draw.choice("bdfgklmnprst") + self.draw.choice("aeiou") for _ in range(3))

    def path(self, module):
        return f"src/{module}/{self.word()}.{self.extension}"

    def filled(self, text, module):
        number, ticket = self.draw.randrange(11, 29), f"{self.name.upper()}-{self.draw.randrange(100, 999)}"
        return text.format(module=module, path=self.path(module), number=number, host=f"{self.word()}-db-2", word=self.word(), ticket=ticket)

    def say(self, role, text):
        self.items.append({"role": role, "content": text})

    def run(self, name, arguments, output, said=None):
        self.calls += 1
        identifier = f"call_{hashlib.sha256(f'{self.name}{self.calls}'.encode()).hexdigest()[:12]}"
        function = {"name": name, "arguments": json.dumps(arguments)}
        self.items.append({"role": "assistant", "content": said, "tool_calls": [{"id": identifier, "type": "function", "function": function}]})
        self.items.append({"role": "tool", "tool_call_id": identifier, "content": output})

    def source(self, module):
        lines = (f"    {self.word()}_{module} = {self.word()}({self.word()}, {self.draw.randrange(99)})" for _ in range(self.draw.randrange(30, 90)))
        return "\n".join([f"# {module}", *lines])

    def turn(self, number):
        draw, module = self.draw, self.draw.choice(self.modules)
        path = self.path(module)
        request = self.filled(draw.choice(REQUESTS), module)
        if number % 3 == 0:
            rule = self.filled(RULES[number // 3 % len(RULES)], module)
            request = f"{request} {rule}"
            self.mark(request, rule)
        self.say("user", request)
        self.run("read_file", {"path": path}, self.source(module), f"I will read {path} first.")
        if self.known and draw.random() < 0.7:
            again = draw.choice(self.known)
            self.run("bash", {"command": f"grep -n {module} {again}"}, f"{draw.randrange(9, 400)}: {module}_{self.word()}")
        failed, seconds = draw.random() < 0.4, draw.randrange(100, 9_000) / 100
        output = f"exit code 1\n{draw.choice(ERRORS)} in {path}:{draw.randrange(9, 300)}" if failed else f"{draw.randrange(20, 400)} passed in {seconds} s"
        self.run("bash", {"command": f"{self.test} -k {module}_{self.word()}"}, output)
        self.run("edit_file", {"path": path, "old": self.word(), "new": self.source(module)[:400]}, f"The file {path} has been updated.")
        self.run("bash", {"command": f"{self.test} {module} --round {number}"}, f"{draw.randrange(20, 400)} passed in {seconds} s")
        commit = hashlib.sha256(f"{self.name}{number}".encode()).hexdigest()[:9]
        self.run("bash", {"command": f"git commit -am '{module}: {self.word()}'"}, f"[main {commit}] {module}\n 1 file changed, {draw.randrange(5, 60)} insertions(+)")
        self.say("assistant", f"{path} is fixed: {module} took {seconds} s and the commit is {commit}. I decided for {self.word()} because it is shorter.")
        self.known.append(path)

    def mark(self, text, rule):
        start = text.index(rule)
        digest = hashlib.sha256(rule.encode()).hexdigest()[:12]
        self.labels.append({"message": len(self.items), "start": start, "length": len(rule), "sha256": digest, "kind": "constraint", "rule": f"rule-{len(self.labels)}"})

    def made(self, turns=36):
        self.say("system", f"You are an agent who works on {self.topic}, in {self.language}.")
        for number in range(turns):
            self.turn(number)
        return {"source": "made-up", "session_id": self.name, "format": "openai-chat", "system": None, "messages": self.items}


def everything():
    made = [Session(name) for name in TRADES]
    return [(session.made(), session.labels) for session in made]


def sessions():
    return [session for session, _ in everything()]


def labels():
    return {f"made-up/{session['session_id']}": marked for session, marked in everything()}
