"""Container images without a docker engine or a registry: built with buildah, loaded into our containerd by digest.

Three layers. `build` makes an archive and keeps it in the cache by the content of what went in; `load` puts an archive
into the running cluster; the table at the top says which images there are. Images are always referred to by digest,
because a digest is part of a result's evidence.
"""

import json
import re
import subprocess
import tarfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from local_cluster import build_environment, cache, layout, node
from local_cluster.packages import program
from local_cluster.progress import say, step

REPOSITORY = Path(__file__).resolve().parent.parent
PREFIX = "localhost/fairtrial"
BASE = f"{PREFIX}/debian-python:base"
# Image name: the folder of the part. Their context is the repository, since they all use what is in src/.
PARTS = {
    "operator": "operator",
    "gateway": "gateway",
    "runner": "runner_image",
    "evaluator": "evaluator_image",
    "analysis": "analysis",
}
# Example images that take long to build, so only those who ask for them wait: agents, and the model that they talk to.
AGENTS = REPOSITORY / "examples" / "agents"
AGENT_BASE = "python"  # an example image: what the tasks that agents are tried on need
ACP = REPOSITORY / "examples" / "acp" / "Dockerfile"
OVER_ACP = "-acp"  # ends the folder of an agent whose image is another agent's, with the client of the protocol over it
PROVIDER = "scripted-provider"
# In the cache like the others, and described by code: the base, the sandbox of pods, the queues of some tests.
MADE_ELSEWHERE = {"base", "pause", "kueue"}
_BROKEN = re.compile(r'for image with ID \\?"([0-9a-f]{64})')
STEPS = "steps"  # beside an archive: the builder's images that the steps of its Dockerfile made
# In a copied folder, neither content of an image nor a reason to build it again.
IGNORED = (".git", ".venv", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", "node_modules")
BASE_PACKAGES = ("python3", "python3-venv", "python-is-python3", "ca-certificates")
BASE_SUITE = "bookworm"
# Documentation and translations: a third of the size, and no program reads them.
BASE_EXCLUDED = ("/usr/share/man/*", "/usr/share/doc/*", "/usr/share/locale/*", "/usr/share/info/*")


@dataclass(frozen=True)
class Image:
    """An image to build: a Dockerfile, the folder that it copies from, its build arguments, and what it is built on."""

    name: str
    dockerfile: Path
    context: Path
    arguments: Mapping[str, str] = field(default_factory=lambda: {"BASE": BASE})
    on: str = ""  # the name of another of our images; otherwise our own base image


class BuildFailed(Exception):
    """One or more images could not be built: the message has the last lines of each log."""


def table() -> list[Image]:
    """Our own images, then every example's."""
    parts = [Image(name, REPOSITORY / folder / "Dockerfile", REPOSITORY) for name, folder in PARTS.items()]
    examples = sorted((REPOSITORY / "examples" / "images").glob("*/Dockerfile"))
    return parts + [Image(file.parent.name, file, file.parent) for file in examples]


def on_request() -> list[Image]:
    """The agents, named agent-<folder>, and the scripted provider. Nobody builds them who does not name them."""
    agents = [
        Image(f"agent-{file.parent.name}", file, AGENTS, on=AGENT_BASE) for file in sorted(AGENTS.glob("*/Dockerfile"))
    ]
    over = [
        Image(f"agent-{folder.name}", ACP, REPOSITORY, on=f"agent-{folder.name.removesuffix(OVER_ACP)}")
        for folder in sorted(AGENTS.glob(f"*{OVER_ACP}"))
        if not (folder / "Dockerfile").exists()
    ]
    return [*agents, *over, Image(PROVIDER, REPOSITORY / "examples" / "provider" / "Dockerfile", REPOSITORY)]


def requested(names: Collection[str]) -> list[Image]:
    """Images by name, with or without `agent-` before it."""
    known = {image.name: image for image in on_request()}
    full = {name: name if name in known else f"agent-{name}" for name in names}
    if unknown := [name for name in names if full[name] not in known]:
        raise BuildFailed(f"no image {', '.join(unknown)}; there are {', '.join(known)}")
    return [known[name] for name in dict.fromkeys(full.values())]


def build_and_load_all(also: Collection[str] = ()) -> dict[str, str]:
    """Build every image of the table, and those named, whose content changed, and load it; the references by name.

    One image that cannot be built does not keep the others from being loaded; the error comes at the end.
    """
    archives: dict[str, Path] = {}
    failures: list[str] = []
    for image in table() + requested(also):
        if not image.dockerfile.exists():
            say(f"  {image.name}: no {image.dockerfile.relative_to(REPOSITORY)} yet, skipped")
            continue
        try:
            archives[image.name] = build(image)
        except BuildFailed as failure:
            failures.append(str(failure))
    loaded_now = load_all(archives)
    if failures:
        raise BuildFailed("\n".join(failures))
    return loaded_now


def build(image: Image) -> Path:
    """The OCI archive of an image, built unless the cache has it for this very content."""
    if image.on:
        image = replace(image, arguments={**image.arguments, "BASE": ensure_image(image.on)})
    content_key = key(image, ensure_base() if BASE in image.arguments.values() else "")

    def make(target: Path) -> None:
        with step(f"build image {image.name}"), build_environment.together():
            _build(image, f"{PREFIX}/{image.name}:{content_key}", target)

    return cache.entry("images", image.name, content_key, make) / "image.tar"


def ensure_image(name: str) -> str:
    """The reference of one of our images in the builder's store, where another one can be built on it."""
    (image,) = (image for image in [*table(), *on_request()] if image.name == name)
    archive = build(image)
    reference = f"{PREFIX}/{name}:{archive.parent.name}"
    if not _buildah_succeeds("inspect", "--type", "image", reference):
        with step(f"load image {name} into the builder"), build_environment.together():
            command = [*build_environment.buildah(), "pull", "--quiet", f"oci-archive:{archive}"]
            pulled = subprocess.run(
                command, capture_output=True, text=True, env=build_environment.variables(), check=False
            )
            if pulled.returncode:
                raise BuildFailed(f"image {name} could not be loaded into the builder: {pulled.stderr.strip()}")
            _buildah(name, "tag", pulled.stdout.strip(), reference)
    return reference


def key(image: Image, base_key: str) -> str:
    """The content key of an image: its Dockerfile, what that copies, its build arguments and its base."""
    arguments = [f"{name}={value}" for name, value in sorted(image.arguments.items())]
    return cache.files_key([image.dockerfile, *copied(image)], base_key, *arguments, ignored=IGNORED)


def copied(image: Image) -> list[Path]:
    """The files and folders of the context that a Dockerfile copies, in its order, without those of other stages."""
    lines = image.dockerfile.read_text().replace("\\\n", " ").splitlines()
    instructions = [line.split() for line in lines if re.match(r"(?i)(COPY|ADD)\s(?!.*--from=)", line)]
    patterns = [word for words in instructions for word in words[1:-1] if not word.startswith("--")]
    return [path for pattern in patterns for path in sorted(image.context.glob(pattern))]


def _build(image: Image, tag: str, target: Path) -> None:
    ignore_file = target / "ignored"
    ignore_file.write_text("".join(f"**/{name}\n" for name in IGNORED))
    flags = [flag for name, value in sorted(image.arguments.items()) for flag in ("--build-arg", f"{name}={value}")]
    # fmt: off
    _buildah(
        image.name, "bud", "--isolation", "chroot", "--layers", "--pull-never", *flags,
        *build_environment.volume_flags(), "--ignorefile", str(ignore_file),
        "--file", str(image.dockerfile), "--tag", tag, str(image.context),
    )
    # fmt: on
    (target / STEPS).write_text(" ".join(steps_told(_log(image.name).read_text(errors="replace"))))
    # Compressing would take longer than the rest, and saves nothing on one machine.
    _buildah(image.name, "push", "--disable-compression", tag, f"oci-archive:{target / 'image.tar'}:latest")
    ignore_file.unlink()


def steps_told(log: str) -> list[str]:
    """What the builder says each step made or found: an image without a name, that the next such build begins with."""
    return re.findall(r"^--> (?:Using cache )?([0-9a-f]{8,64})$", log, re.MULTILINE)


def nameless() -> list[str]:
    """The builder's images that have no name and that no other one is made from."""
    return [one.removeprefix("sha256:") for one in _listed("--filter", "dangling=true", "--no-trunc", "--quiet")]


def named() -> list[str]:
    """The builder's images that have a name, by it."""
    return [one for one in _listed("--format", "{{.Name}}:{{.Tag}}") if not one.startswith("<none>")]


def _listed(*flags: str) -> list[str]:
    """A list of the builder's images, while nothing is built: one that is half written is then a killed build's, and
    would end every list. It goes."""
    command = [*build_environment.buildah(), "images", *flags]
    while True:
        done = subprocess.run(command, capture_output=True, text=True, env=build_environment.variables(), check=False)
        broken = _BROKEN.search(done.stderr)
        if broken and forget(broken[1]):
            continue
        if done.returncode:
            say(f"  the builder does not list its images, so none is removed: {done.stderr.strip()}")
        return [] if done.returncode else done.stdout.split()


def forget(*names: str) -> bool:
    """Remove images from the builder's store; whether that could be done."""
    return _buildah_succeeds("rmi", *names)


def forget_containers() -> None:
    """Remove the containers in which builds worked that were killed: they hold what they were made from."""
    _buildah_succeeds("rm", "--all")


def ensure_base() -> str:
    """Make the base image that stands in for a public one, if it is not in the store; its key."""
    sources = build_environment.debian_sources()
    content_key = cache.key(BASE_SUITE, *BASE_PACKAGES, *BASE_EXCLUDED, *(source.read_text() for source in sources))

    def make(target: Path) -> None:
        with step(f"make the base image from Debian {BASE_SUITE} packages"):
            command = [
                program("mmdebstrap"),
                "--mode=root",
                "--variant=minbase",
                f"--include={','.join(BASE_PACKAGES)}",
                *(f"--dpkgopt=path-exclude={pattern}" for pattern in BASE_EXCLUDED),
                *build_environment.mmdebstrap_flags(target),
                BASE_SUITE,
                str(target / "base.tar"),
                *map(str, sources),
            ]
            _logged("base", command)

    folder = cache.entry("images", "base", content_key, make)
    tagged = f"{BASE}-{content_key}"
    if _buildah_succeeds("inspect", "--type", "image", tagged):
        return content_key
    with step("load the base image into the builder"), build_environment.together():
        dockerfile = folder / "Dockerfile"
        dockerfile.write_text("FROM scratch\nADD base.tar /\nENV LANG=C.UTF-8\n")
        _buildah("base", "bud", "--file", str(dockerfile), "--tag", tagged, "--tag", BASE, str(folder))
    return content_key


def load(name: str, archive: Path) -> str:
    """Load an archive into the running cluster and return the reference by digest, which pods then name."""
    reference = f"{PREFIX}/{name}@{manifest_digest(archive)}"
    if reference not in _ctr("images", "list", "--quiet").split():
        with step(f"load image {name}"):
            _ctr("images", "import", "--base-name", f"{PREFIX}/{name}", "--digests", str(archive))
    return reference


def load_all(archives: Mapping[str, Path]) -> dict[str, str]:
    """Load archives by image name, and note the references where `env` and tests find them."""
    references = loaded() | {name: load(name, archive) for name, archive in archives.items()}
    temporary = layout.images_file().with_suffix(".tmp")
    temporary.write_text(json.dumps(references, indent=2))
    temporary.rename(layout.images_file())
    return references


def loaded() -> dict[str, str]:
    """The references by digest of the images that are in the cluster, by name."""
    file = layout.images_file()
    return dict(json.loads(file.read_text())) if file.exists() else {}


def load_pause(binary: Path) -> None:
    """The image that every pod's first, idle container runs."""
    if node.PAUSE_IMAGE in _ctr("images", "list", "--quiet").split():
        return

    def make(target: Path) -> None:
        (target / "Dockerfile").write_text('FROM scratch\nCOPY pause /pause\nENTRYPOINT ["/pause"]\n')
        (target / "pause").write_bytes(binary.read_bytes())
        (target / "pause").chmod(0o755)
        _buildah("pause", "bud", "--file", str(target / "Dockerfile"), "--tag", node.PAUSE_IMAGE, str(target))
        _buildah("pause", "push", "--disable-compression", node.PAUSE_IMAGE, f"oci-archive:{target}/image.tar:local")

    archive = cache.entry("images", "pause", cache.files_key([binary]), make) / "image.tar"
    _ctr("images", "import", "--base-name", node.PAUSE_IMAGE.rpartition(":")[0], str(archive))


def manifest_digest(archive: Path) -> str:
    """The digest of an OCI archive's only manifest."""
    with tarfile.open(archive) as tar:
        index = tar.extractfile("index.json")
        assert index, f"{archive} has no index.json"
        (manifest,) = json.load(index)["manifests"]
        return str(manifest["digest"])


def _buildah(name: str, *arguments: str) -> None:
    _logged(name, [*build_environment.buildah(), *arguments])


def _buildah_succeeds(*arguments: str) -> bool:
    command = [*build_environment.buildah(), *arguments]
    return subprocess.run(command, capture_output=True, env=build_environment.variables(), check=False).returncode == 0


def _log(name: str) -> Path:
    return cache.root() / "images" / "logs" / f"{name}.log"


def _logged(name: str, command: list[str]) -> None:
    log = _log(name)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as output:
        output.write(f"$ {' '.join(command)}\n")
        output.flush()
        done = subprocess.run(
            command, stdout=output, stderr=subprocess.STDOUT, env=build_environment.variables(), check=False
        )
    if done.returncode:
        last = "\n".join(log.read_text(errors="replace").splitlines()[-25:])
        raise BuildFailed(f"image {name} could not be built; see {log}\n{last}")


def _ctr(*arguments: str) -> str:
    command = [program("ctr"), "--address", str(layout.containerd_socket()), "-n", layout.CONTAINERD_NAMESPACE]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildFailed(f"`ctr {' '.join(arguments)}` failed: {done.stderr.strip()}")
    return done.stdout
