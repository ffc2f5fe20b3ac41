"""Signing: keys by URI, statements and checkpoints signed with them, and authorities asked for time-stamps.

What is signed can be read again with `fairtrial.attest` alone, which can't sign.
"""
