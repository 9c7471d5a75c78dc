"""Runs an agent's task in two planes: one that proposes, one that checks, asks and applies."""
