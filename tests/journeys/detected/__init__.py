"""Faults really run, recorded, and looked at by the detectors."""
