"""A client for agents that speak the Agent Client Protocol on standard input and output: they need somebody to talk to.

`fairtrial-acp -- gemini --acp` starts the agent, opens one session in the current folder, hands over the prompt that it
read from standard input, answers what the agent asks, and ends with an exit code that tells why the agent stopped. What
both sides say is on standard output, line by line, for the built-in adapter `acp` (see `lines` for the form).

JSON-RPC, the protocol's models and its methods are those of the package agent-client-protocol. This runs in the agent's
image, as the agent's user, beside untrusted work: it is the agent's equal and guards nothing. What it refuses, it
refuses so that a mistake is told to the agent and stands in the record; the agent could do it by itself.
"""
