"""Users, members, notes."""

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Member:
    """What a user is in one workspace. Display names are chosen freely, and not unique."""

    user_id: int
    display_name: str
    role: Literal["owner", "writer"] = "writer"
    suspended: bool = False


@dataclass
class Workspace:
    """Members by the ID of their user."""

    name: str
    members: dict[int, Member] = field(default_factory=dict)


@dataclass
class Note:
    """A text that somebody wrote."""

    id: int
    workspace: str
    author_id: int
    text: str
    folder: str = ""
