"""How often a call is tried, and the pauses between."""

from __future__ import annotations

import random

from ._errors import APIStatusError, ContextdError

FIRST_PAUSE = 0.25
LONGEST_PAUSE = 8.0
# Longer than this nobody waits inside a call: the caller gets the error with its `retry_after`.
LONGEST_RETRY_AFTER = 60.0


class Tries:
    """The failed tries of one call."""

    def __init__(self, max_retries: int) -> None:
        self.max_retries = max_retries
        self.failed = 0

    def pause(self, failure: ContextdError) -> float:
        """Seconds until the next try; raises the failure where there is none."""
        asked = failure.retry_after if isinstance(failure, APIStatusError) else None
        if not failure.is_transient or self.failed >= self.max_retries or (asked or 0) > LONGEST_RETRY_AFTER:
            raise failure
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0**self.failed)
        self.failed += 1
        return max(asked or 0, pause * random.uniform(0.5, 1.0))

    def succeeded(self) -> None:
        """Forgets the failures: something came."""
        self.failed = 0
