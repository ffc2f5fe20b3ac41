"""Where things lie: in a pod as `fairtrial.names` says, elsewhere (a local try, tests) below one folder."""

from dataclasses import dataclass
from pathlib import Path

from fairtrial import names


@dataclass(frozen=True)
class Places:
    """The paths that launch and record use."""

    shared: Path
    workspace: Path
    home: Path
    tmp: Path
    channel: Path
    spool: Path
    termination_log: Path
    model_token: Path  # the agent's own key for model calls, if it has one

    @classmethod
    def in_pod(cls) -> "Places":
        """The mount points of an agent pod."""
        return cls(
            shared=Path(names.SHARED_DIR),
            workspace=Path(names.WORKSPACE_DIR),
            home=Path(names.HOME_DIR),
            tmp=Path("/tmp"),  # noqa: S108 — the agent's own volume
            channel=Path(names.CHANNEL_SOCKET),
            spool=Path(names.SPOOL_DIR),
            termination_log=Path("/dev/termination-log"),
            model_token=Path(names.TOKEN_FILE),
        )

    @classmethod
    def below(cls, root: Path) -> "Places":
        """The same tree below one folder; makes the folders."""
        places = cls(
            shared=root / "fairtrial",
            workspace=root / "workspace",
            home=root / "home",
            tmp=root / "tmp",
            channel=root / "run" / "record.sock",
            spool=root / "spool",
            termination_log=root / "termination-log",
            model_token=root / "model-token",
        )
        folders = (places.shared, places.workspace, places.home, places.tmp, places.channel.parent, places.spool)
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
        return places

    @property
    def project(self) -> Path:
        """The agent's working folder."""
        return self.workspace / "project"

    @property
    def plan(self) -> Path:
        """What the recorder leaves for launch, last of all that it lays out."""
        return self.shared / "plan.json"

    @property
    def bundle(self) -> Path:
        """The task's public archive as it was fetched: the base of the diff. Read-only for the agent."""
        return self.shared / "bundle.tar"

    @property
    def runtime(self) -> Path:
        """The self-contained runtime that starts launch."""
        return self.shared / "runtime"

    @property
    def candidate(self) -> Path:
        """The candidate's files."""
        return self.shared / "candidate"
