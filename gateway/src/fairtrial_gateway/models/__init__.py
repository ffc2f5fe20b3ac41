"""Model calls: what an agent says to a provider passes here unchanged and is written down as it passes.

`proxy` is the life of one call; `local` and `routes` put it behind a laptop's or a cluster's front door.
"""
