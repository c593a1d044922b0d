"""What `typing` lacks before Python 3.11."""

import sys

if sys.version_info >= (3, 11):
    from typing import NotRequired, TypedDict, Unpack
else:
    # This `TypedDict` knows that one's fields may be `NotRequired`.
    from typing_extensions import NotRequired, TypedDict, Unpack

__all__ = ["NotRequired", "TypedDict", "Unpack"]
