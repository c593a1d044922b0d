"""A session fed in segments: when it is compacted, and by how much it is ahead of what is asked."""

from dataclasses import dataclass

from .text import message_tokens

WINDOWS = (32_000, 16_000, 8_000, 4_000)
TRIGGER = 0.8
# Between two compactions at least so much of a window is new, or one that cannot shrink a context would go on for ever.
PAUSE = 0.1


def window_for(tokens):
    """The largest of the windows that the session fills twice."""
    return next((window for window in WINDOWS if tokens >= 2 * window), WINDOWS[-1])


def steps(messages):
    """Indices at which something may be cut off: before any message that is no tool's result."""
    return [index for index, message in enumerate(messages) if index and message.role != "tool"]


def cuts(messages, rounds):
    """Ends of so many segments of about equal size; one more follows them, which is the future and is never fed."""
    sizes = [message_tokens(message.chat) for message in messages]
    total, allowed = sum(sizes), steps(messages)
    totals, running = {}, 0
    for index, size in enumerate(sizes):
        totals[index] = running
        running += size
    found = []
    for number in range(1, rounds + 1):
        wanted = total * number / (rounds + 1)
        free = [index for index in allowed if not found or index > found[-1]]
        if not free:
            break
        found.append(min(free, key=lambda index: abs(totals[index] - wanted)))
    return found


@dataclass
class Fed:
    """What came of feeding: the context after each cut, and how often it was compacted."""

    contexts: list
    compactions: int
    tokens: list
    overfull: int


def feed(participant, messages, ends, window, tokens_of):
    """Feeds messages up to the last end; compacts at each end, and in between where the context passes the trigger."""
    contexts, sizes = [], []
    compactions = overfull = start = 0
    for end in ends:
        for batch, full in batches(participant, messages, start, end, window):
            participant.append([message.chat for message in batch])
            if full:
                participant.compact()
                compactions += 1
        participant.compact()
        compactions += 1
        context = participant.context()
        size = tokens_of(context)
        contexts.append(context)
        sizes.append(size)
        overfull += size > window
        start = end
    return Fed(contexts, compactions, sizes, overfull)


def batches(participant, messages, start, end, window):
    """Stretches of a segment, each with whether the context is over the trigger behind it. A stretch ends where a step does."""
    batch, fresh = [], 0
    size = participant.tokens()
    for index in range(start, end):
        batch.append(messages[index])
        added = message_tokens(messages[index].chat)
        size, fresh = size + added, fresh + added
        closed = index + 1 == end or messages[index + 1].role != "tool"
        if closed and index + 1 < end and size > TRIGGER * window and fresh > PAUSE * window:
            yield batch, True
            batch, fresh = [], 0
            size = participant.tokens()
    if batch:
        yield batch, False
