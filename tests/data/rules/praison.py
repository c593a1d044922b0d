"""The rules of praisonaiagents 1.7.17: token counts, what its strategies keep, its guard against thrashing."""


def count(text):
    ascii_only = sum(ord(one) < 128 for one in text)
    return max(1, int(ascii_only * 0.25 + (len(text) - ascii_only) * 1.3)) if text else 0


def size(message):
    calls = message.get("tool_calls") or []
    return count(message.get("content") or "") + sum(count(str(call["function"])) for call in calls)


def total(messages):
    return sum(map(size, messages))


def instructions(messages):
    return [at for at, message in enumerate(messages) if message["role"] == "system"]


def others(messages):
    return [at for at, message in enumerate(messages) if message["role"] != "system"]


def snapped(messages, boundary):
    """A kept part does not begin with results: their call is kept too."""
    while 0 < boundary < len(messages) and messages[boundary]["role"] == "tool":
        boundary -= 1
    return boundary


def newest(messages, places, count):
    """The last so many of these places, and more where a call would be parted from its results."""
    if not count:
        return []
    return places[snapped([messages[at] for at in places], max(0, len(places) - count)) :]


def truncate(messages, config):
    kept = instructions(messages) + newest(messages, others(messages), config["preserve_recent"])
    while total(messages[at] for at in kept) > config["target_tokens"] and len(kept) > 1:
        oldest = next((n for n, at in enumerate(kept) if messages[at]["role"] != "system"), None)
        if oldest is None:
            break
        with_results = bool(messages[kept.pop(oldest)].get("tool_calls"))
        while with_results and oldest < len(kept) and messages[kept[oldest]]["role"] == "tool":
            kept.pop(oldest)
    return kept


def sliding(messages, config):
    kept, places = instructions(messages), others(messages)
    used, boundary = total(messages[at] for at in kept), len(places)
    while boundary and used + size(messages[places[boundary - 1]]) <= config["target_tokens"]:
        boundary -= 1
        used += size(messages[places[boundary]])
    return kept + places[snapped([messages[at] for at in places], boundary) :]


def pruned(messages, config):
    """Where the results lie that are shortened."""
    end = snapped(messages, len(messages) - config["preserve_recent"])
    long = (at for at, one in enumerate(messages[: max(0, end)]) if one["role"] == "tool" and len(one["content"]) > 500)
    return list(long)


def compacted(messages, config, strategy):
    """The messages afterwards. Summaries and marks of what is gone are not told word by word."""
    if strategy == "prune":
        shorter = pruned(messages, config)
        mark = "[shortened]"
        cut = lambda text: text[:200] + mark + text[-min(100, len(text) // 5) :]
        return [one | {"content": cut(one["content"])} if at in shorter else one for at, one in enumerate(messages)]
    if strategy in ("summarize", "llm_summarize"):
        told = [{"role": "system", "content": "[a summary]"}]
        kept = newest(messages, others(messages), config["preserve_recent"])
        return [messages[at] for at in instructions(messages)] + told + [messages[at] for at in kept]
    keep = truncate if strategy == "truncate" else sliding
    return [messages[at] for at in keep(messages, config)]


class Guard:
    def __init__(self, config):
        self.config, self.streak, self.latched = config, 0, 0
        least = config["min_savings_pct"]
        self.least = least * 100 if 0 < least < 1 else least

    def admits(self, before):
        if self.streak < self.config["max_consecutive_low_savings"]:
            return True
        if before < 1.25 * self.latched:
            return False
        self.streak = self.latched = 0
        return True

    def record(self, before, after):
        if (before - after) / before * 100 >= self.least:
            self.streak = self.latched = 0
            return
        self.streak += 1
        if self.streak >= self.config["max_consecutive_low_savings"]:
            self.latched = before


def traced(config, sizes):
    """A trace of passes, given their sizes before and after."""
    guard, passes = Guard(config), []
    for before, after in sizes:
        is_over = before > config["max_tokens"]
        needs = is_over and guard.admits(before)
        if needs:
            guard.record(before, after)
        one = {"original_tokens": before, "compacted_tokens": after if needs else before}
        one |= {"skipped": is_over and not needs, "needs": needs}
        passes.append(one | {"streak_after": guard.streak, "latched_at_after": guard.latched})
    return passes
