"""Credentials replaced by stable references before anything is written. Pure: knows no storage."""
