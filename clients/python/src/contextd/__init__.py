"""Client of contextd, the service that manages the context of LLM agents."""

from . import types
from ._async.client import AsyncContextd
from ._async.transport import AsyncPager
from ._errors import (
    APIConnectionError,
    APIStatusError,
    APITimeoutError,
    AuthenticationError,
    ConflictError,
    ContextdError,
    InvalidRequestError,
    InvalidResponseError,
    NotFoundError,
    RateLimitError,
    ServerError,
    UnavailableError,
)
from ._lines import ServerSentEvent
from ._sync.client import Contextd
from ._sync.transport import Pager
from ._version import __version__

__all__ = [
    "APIConnectionError",
    "APIStatusError",
    "APITimeoutError",
    "AsyncContextd",
    "AsyncPager",
    "AuthenticationError",
    "ConflictError",
    "Contextd",
    "ContextdError",
    "InvalidRequestError",
    "InvalidResponseError",
    "NotFoundError",
    "Pager",
    "RateLimitError",
    "ServerError",
    "ServerSentEvent",
    "UnavailableError",
    "__version__",
    "types",
]
