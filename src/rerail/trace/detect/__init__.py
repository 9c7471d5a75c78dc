"""Detectors: each reads the records of a run and says what it noticed, with its evidence."""
