"""The agent's three tools; each is one HTTPS call."""

import json
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

TICKETS = "https://tickets.example.com/tickets"
CUSTOMERS = "https://crm.example.com/customers"
WORDS = {"type": "string", "maxLength": 24}
TOOLS = {
    "search_tickets": ("Find support tickets by number or words.", {"query": WORDS}),
    "get_customer": ("Look customers up by name.", {"name": WORDS}),
    "file_ticket": (
        "File the ticket under a customer.",
        {"customer_id": {"type": "string", "pattern": "^CUST-[0-9]{4}$"}},
    ),
}


def use(name, arguments, ticket):
    """Call a tool; a refusal is a result like any other."""
    request = {
        "search_tickets": lambda: Request(f"{TICKETS}?{urlencode(arguments)}"),
        "get_customer": lambda: Request(f"{CUSTOMERS}?{urlencode(arguments)}"),
        "file_ticket": lambda: Request(
            f"{TICKETS}/{ticket}/customer", json.dumps(arguments).encode()
        ),
    }[name]()
    try:
        with urlopen(request, timeout=30) as reply:
            return reply.read().decode()
    except HTTPError as refused:
        return refused.read().decode()


def offer(turn, by_schema):
    """All tools; or, for a small model that knows none, the JSON schema of one tool a turn."""
    schemas = {
        name: {"type": "object", "properties": parameters, "required": list(parameters)}
        for name, (_, parameters) in TOOLS.items()
    }
    if not by_schema:
        return {
            "tools": [
                {
                    "type": "function",
                    "function": {"name": name, "description": about, "parameters": schemas[name]},
                }
                for name, (about, _) in TOOLS.items()
            ]
        }
    calm = {"temperature": 0.3, "max_completion_tokens": 80}
    if turn > len(TOOLS):
        return calm
    name = list(TOOLS)[turn - 1]
    form = {"name": name, "schema": schemas[name]}
    return calm | {"response_format": {"type": "json_schema", "json_schema": form}}
