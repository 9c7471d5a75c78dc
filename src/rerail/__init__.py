"""rerail: the flight recorder and time machine for AI agent runs."""

__version__ = "0.1.0"
