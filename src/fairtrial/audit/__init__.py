"""The offline verifier: is this package what was planned, what happened, and what was made of it?

Standard library and `cryptography`, no network, nothing of the package is executed or unpacked; to be read in an hour.
`verify` calls one module after the other: `files` (the world is closed, every byte as listed), `signatures` and
`stamps` (who said it, when), `preregistration` and `schedule` (what was planned), `ledger` and `checkpoints` (what
happened, in which order), `flow` (everything planned is accounted for), `records`, `evaluations` and `corrections`
(each run), `release` (what was hidden and later published), `numbers` (every number again). What is found is a code of
`findings`; all of it is told.
"""
