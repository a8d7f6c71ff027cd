"""Values as JSON text; a value that is not JSON is rejected with its path."""

from __future__ import annotations

import json
import math
from typing import Any

from .errors import NotJson

#: The depth to which the offending value is searched.
LEVELS = 200


def encode(value: Any) -> bytes:
    """The JSON of a value. Unlike ``json.dumps`` it never writes NaN or Infinity.

    Raises :class:`NotJson` with the path of the value that is not JSON.
    """
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
    except RecursionError:
        raise NotJson(_offender(value, "$", []) or "it is nested too deeply") from None
    # Subclasses of dict and list run code of their own here, which may raise anything.
    except Exception as why:
        raise NotJson(_offender(value, "$", []) or str(why)) from None


def _offender(value: Any, place: str, above: list[int]) -> str | None:
    """The path and kind of the first value that is not JSON."""
    if value is None or isinstance(value, (str, int)):
        return None
    if isinstance(value, float):
        return None if math.isfinite(value) else f"{place} is {value}"
    if not isinstance(value, (dict, list, tuple)):
        return f"{place} is a {type(value).__name__}"
    if id(value) in above:
        return f"{place} contains itself"
    if len(above) >= LEVELS:
        return f"{place} is nested too deeply"
    inside = [*above, id(value)]
    if isinstance(value, dict):
        for key, item in value.items():
            if not (key is None or isinstance(key, (str, int, float))):
                return f"a key of {place} is a {type(key).__name__}"
            found = _offender(item, f"{place}.{key}", inside)
            if found:
                return found
        return None
    for index, item in enumerate(value):
        found = _offender(item, f"{place}[{index}]", inside)
        if found:
            return found
    return None
