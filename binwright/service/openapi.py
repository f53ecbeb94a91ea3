"""Parts of the OpenAPI document that FastAPI does not see, since the routes read their requests themselves."""

from __future__ import annotations

from typing import Any

from binwright.service import models
from binwright.service.limits import Limits

PAGE, LONGEST = 50, 200
"""Jobs of a page of the list, and at most."""
LISTING = {
    "parameters": [
        {
            "name": "state",
            "in": "query",
            "description": "Of these only: several with commas between them, or repeated.",
            "schema": {"type": "string"},
            "example": "queued,running",
        },
        {
            "name": "limit",
            "in": "query",
            "schema": {"type": "integer", "minimum": 1, "maximum": LONGEST, "default": PAGE},
        },
        {
            "name": "before",
            "in": "query",
            "description": "`next` of the page before.",
            "schema": {"type": "string"},
        },
    ]
}


def body_of(model: type[models.Problem], limits: Limits, *options: str) -> dict[str, Any]:
    """How a body is described: the text of a specification with options in the query, or JSON."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    if "time" in options:
        schema["properties"]["time"] |= {"maximum": limits.time, "default": min(models.TIME, limits.time)}
    content = {
        "text/plain": {"schema": {"type": "string"}, "example": models.EXAMPLE["text"]},
        "application/json": {"schema": schema, "example": models.EXAMPLE},
    }
    query = [{"name": name, "in": "query", "schema": schema["properties"][name]} for name in options]
    return {"requestBody": {"content": content, "required": True}, "parameters": query}
