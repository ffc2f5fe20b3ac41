"""From what was read and computed to an evidence package: a BagIt bag whose every file is hashed and signed for.

`listing` the payload files · `noting` a source that lists what is read from it · `runs` the files of a run, by its
record · `gather` all that lies in the store · `papers` request, commitments, what is withheld · `crate` metadata for
people · `bag` the tag files · `build` all of it · `publish` writes it. Artifacts are never read: their hashes are those
of the records.
"""
