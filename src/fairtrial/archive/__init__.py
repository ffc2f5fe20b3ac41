"""Archives of folders: one deterministic form, read with suspicion, written from hostile trees without harm.

The form is an uncompressed tar (POSIX pax) of files, folders and symbolic links: sorted by name, times and owners zero,
modes 0644 or 0755. Equal folders give equal bytes, so a digest names content. Only this form is read back; a GNU or
compressed tar is refused, which keeps the reader small enough to trust.

    packed = pack({"TASK.md": folder / "TASK.md", "project": folder / "project", "task.json": b"{}"}, file)
    done = extract(client.get("/v1/bundles/" + digest), Path("/workspace"), sha256=digest)   # refuses what is unsafe
    done = extract(chunks, target, sha256=digest, unsafe="skip")                             # a snapshot: skips, lists
    taken = snapshot(Path("/workspace"), file, max_bytes=1 << 30)                            # survives hostile trees
    members = index(path)                       # name → Member with size, digest and offset of the content
    initial_state = tree_digest(inventory(Path("/workspace")).values())                      # same as of index(bundle)
"""

from fairtrial.archive.extract import Extracted, extract
from fairtrial.archive.inventory import content, index, inventory, printable, tree_digest
from fairtrial.archive.pack import Packed, pack
from fairtrial.archive.reader import chunks_of, read_members, verified
from fairtrial.archive.rules import Limits, Member, link_fault, name_fault
from fairtrial.archive.snapshot import Taken, snapshot

__all__ = [
    "Extracted",
    "Limits",
    "Member",
    "Packed",
    "Taken",
    "chunks_of",
    "content",
    "extract",
    "index",
    "inventory",
    "link_fault",
    "name_fault",
    "pack",
    "printable",
    "read_members",
    "snapshot",
    "tree_digest",
    "verified",
]
