"""Reading what was signed, hashed and time-stamped: what an auditor's machine needs, and nothing that can sign.

Standard library and `cryptography` only, so that it can be read in an hour. Whatever does not hold is raised as
`fairtrial.errors.Unproven` with a stable code. Formats: in-toto Statement v1 in DSSE in a Sigstore bundle v0.3,
C2SP signed notes over RFC 6962 trees, RFC 3161 time-stamps, trust lists of our own.
"""
