"""The wire protocols that model providers speak: which call is made, what it asks, what the answer says.

One module per wire behind the protocol `Wire`; `find` and `BY_NAME` are the registry. Pure and standard library only:
nothing here changes a byte of what passes, and nothing that a peer sends makes it raise.
"""

from fairtrial.wires.registry import BY_NAME, WIRES, find

__all__ = ["BY_NAME", "WIRES", "find"]
