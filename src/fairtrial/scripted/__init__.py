"""The scripted provider: a model that plays a script, on the wires that real ones speak.

For tests, demos and task authors. It never thinks; it counts the tool results in a request and answers with the next
step, by the tools that the agent offers.

    script = parse_script({"steps": [{"say": "I look.", "read": "a.py"}, {"say": "Done."}]})
    async with serve(script) as served:
        ...  # point an agent at served.url; served.seen tells what was asked and answered
"""

from fairtrial.scripted.script import Script, parse_script, read_script
from fairtrial.scripted.server import Request, Seen, Served, serve

__all__ = ["Request", "Script", "Seen", "Served", "parse_script", "read_script", "serve"]
