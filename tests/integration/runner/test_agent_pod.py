"""An agent pod's life, with a real PID 1, a real second user, and agents that do not behave."""

import hashlib
import io
import json
import os
import signal
import tarfile
import time
from dataclasses import replace
from pathlib import Path

import pytest
from fairtrial_runner.testing import TOKEN

from fairtrial import archive, documents, names
from fairtrial.documents import Preflight, Probe, Step, StepNotice


def sh(script: str, seconds: int = 20, name: str = "main", stdin: str = "") -> Step:
    return Step(name, ["/bin/sh", "-c", script], seconds, stdin)


def plan(pod, *steps: Step, **facts):
    pod.plan = replace(pod.plan, steps=list(steps), **facts)
    return pod


def test_an_agent_that_works_is_recorded_in_full(pod):
    plan(
        pod,
        sh("echo hello; echo oops >&2; cat; echo 'y = 2' >> a.py; touch /tmp/left; env", stdin="the prompt\n"),
        sh("echo second", name="next"),
        preflight=[Preflight("fails first", ["/bin/sh", "-c", "touch junk; exit 1"], [1])],
        probes=[Probe("nothing", "tcp", "127.0.0.1", 1)],
        limits={"cpu": "2", "memory": "1Gi"},
    )

    report = pod.run()

    assert (report.ending, report.complete, report.isolation) == ("finished", True, "proven")
    assert report.preflight[0].as_expected
    assert [(s.name, s.end, s.exit_code) for s in report.steps] == [("main", "exited", 0), ("next", "exited", 0)]
    output = pod.stream("stdout").decode()
    assert output.startswith("hello\nthe prompt\n") and output.endswith("second\n")
    assert "FAIRTRIAL_CPU_LIMIT=2\n" in output and "HOME=/home/agent\n" in output
    assert "PYTHON" not in output and "LD_LIBRARY_PATH" not in output
    assert report.steps[1].stream_offsets["stdout"] == len(output) - len("second\n")
    assert pod.stream("stderr") == b"oops\n"
    assert report.leftovers.files_outside == ["/tmp/left"]
    assert (report.diff.files_modified, report.diff.lines_added) == (1, 1)
    assert b"+y = 2\n" in pod.gateway.artifacts["agent/diff.patch"]
    assert report.snapshot.artifact.sha256 == hashlib.sha256(pod.gateway.artifacts["agent/snapshot.tar"]).hexdigest()
    assert report.environment["user"]["uid"] == names.USER_ID
    assert report.environment.keys() >= {"kernel", "cgroup", "hashes", "tools"}
    assert pod.launch.returncode == 0


def test_what_the_kernel_counts_of_the_container_is_in_the_report_and_nothing_else(pod):
    """A pod of this test sees a cgroup only where its root has one; a real pod always does."""
    plan(pod, sh("ls -d /sys/fs/cgroup/* 2>/dev/null; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"))

    used = pod.run().consumption

    sees_one = b"cpu" in pod.stream("stdout")
    assert used is not None, "launch has told what it read"
    assert (used.cpu_us is not None) == sees_one
    assert not sees_one or used.cpu_us > 10_000


def test_no_step_begins_before_the_gateway_knows_of_it(pod):
    plan(pod, sh("echo one; sleep 0.3"), sh("echo two", name="next", seconds=7), tell_steps=True)

    report = pod.run()

    notes = [documents.load(StepNotice, pod.gateway.artifacts[f"agent/steps/0{number}.json"]) for number in (1, 2)]
    assert [(note.name, note.wall_seconds, note.earlier_ms >= 300) for note in notes] == [
        ("main", 20, False),
        ("next", 7, True),
    ]
    assert (report.ending, report.complete, [step.end for step in report.steps]) == ("finished", True, ["exited"] * 2)
    assert {"agent/steps/01.json", "agent/steps/02.json"} <= {artifact.name for artifact in report.artifacts}


def test_an_agent_is_not_started_where_the_gateway_will_not_know_of_its_step(pod):
    plan(pod, sh("echo one"), tell_steps=True)
    pod.gateway.artifacts["agent/steps/01.json"] = b"another's"

    report = pod.run()

    assert (report.ending, report.complete, report.steps) == ("recorder_error", False, [])
    assert "The gateway was not told of step main" in report.message
    assert "agent/stdout/000000" not in pod.gateway.artifacts


def test_what_an_image_sets_reaches_the_agent_and_not_pid_1(pod):
    (pod.root / "opt/json.py").write_text("raise SystemExit('the image took over PID 1')")
    pod.image_env = {"PYTHONPATH": "/opt", "PYTHONHOME": "/opt", "LD_LIBRARY_PATH": "/opt", "PYTHONINSPECT": "1"}
    plan(pod, sh("env"))

    report = pod.run()

    assert report.ending == "finished"
    output = pod.stream("stdout").decode().splitlines()
    assert {f"{name}={value}" for name, value in pod.image_env.items()} <= set(output)
    assert not [line for line in output if line.startswith(("LD_PRELOAD", "LD_AUDIT"))]


def test_an_image_puts_no_library_into_pid_1(pod):
    (pod.root / "etc").mkdir()
    (pod.root / "etc/ld.so.preload").write_text("/opt/none.so\n")
    plan(pod, sh("true"))

    assert pod.run().ending == "finished"
    assert "none.so" not in pod.errors.read_text(), "the loader obeyed /etc/ld.so.preload"


def test_a_home_file_that_holds_the_key_is_not_collected(pod):
    files = {".tool/config": "key={modelToken}", ".tool/other": "no key"}
    plan(pod, sh("cat $HOME/.tool/config; echo log > $HOME/.tool/log"), home_files=files, collect=[".tool/**"])

    report = pod.run()

    assert pod.stream("stdout") == f"key={TOKEN}".encode()
    assert set(archive.index(write(pod, "agent/collected.tar"))) == {".tool/log", ".tool/other"}
    assert report.environment["collected"] == {"files": 2, "skipped": [".tool/config: holds the key for model calls"]}


def test_a_talker_of_100_mib_is_kept_by_head_and_tail_without_growing(pod):
    plan(pod, sh("printf head; head -c 104857600 /dev/zero; printf tail", 60), stream_keep_bytes=2_000_000)
    pod.set_up()
    pod.start()
    peak = 0
    while pod.launch.poll() is None:
        peak = max(peak, resident_kib(pod.record.pid), *(resident_kib(pid) for pid in pod.launch_pids()))
        time.sleep(0.01)
    report = pod.finish()

    stdout = next(s for s in report.streams if s.name == "stdout")
    assert (stdout.bytes_seen, stdout.bytes_kept, stdout.truncated) == (104857608, 2_000_000, True)
    kept = pod.stream("stdout")
    assert kept.startswith(b"head\0") and kept.endswith(b"\0tail") and len(kept) == 2_000_000
    whole = hashlib.sha256(b"head" + bytes(104857600) + b"tail").hexdigest()
    assert stdout.sha256_seen == whole
    assert peak < 64 * 1024


def resident_kib(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (OSError, IndexError):
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmRSS")), 0)


def test_pid_1_cannot_be_killed_or_stopped_by_the_agent(pod):
    plan(
        pod,
        sh("kill -9 1; kill -TERM 1; kill -INT 1; kill -HUP 1; kill -STOP 1; kill -USR1 1; echo still here; exit 3"),
    )

    report = pod.run()

    assert report.ending == "finished"
    assert report.steps[0].exit_code == 3
    assert pod.stream("stdout") == b"still here\n"
    assert report.environment["ignoredSignals"]["SIGTERM"] == 1


def test_the_agent_cannot_look_into_pid_1(pod):
    plan(pod, sh("cat /proc/1/environ; cat /proc/1/maps; ls /proc/1/fd; cat /proc/1/mem; head -c 1 /proc/1/auxv; true"))

    pod.run()

    assert pod.stream("stdout") == b""


def test_what_kills_itself_is_told_apart_from_what_was_killed(pod):
    plan(pod, sh("kill -9 $$", name="itself"), sh("trap '' TERM; sleep 60 & while :; do wait; done", 3, name="late"))

    report = pod.run()

    assert (report.steps[0].end, report.steps[0].signal) == ("signaled", 9)
    assert report.steps[0].signal_sender in ("agent", "unknown")  # unknown where no memory cgroup is in sight
    late = report.steps[1]
    assert (report.ending, late.timed_out, late.signal, late.signal_sender) == ("deadline", True, 9, "launch")
    assert late.duration_ms < 15_000


def test_an_exit_at_the_deadline_is_an_exit_and_a_timeout(pod):
    plan(pod, sh("trap 'exit 0' TERM; sleep 60 & wait", 3))  # the shell has set its trap by then

    report = pod.run()

    assert (report.ending, report.steps[0].exit_code, report.steps[0].timed_out) == ("deadline", 0, True)


def test_a_background_writer_is_listed_and_dead_before_the_snapshot(pod):
    plan(pod, sh("setsid sh -c 'while :; do echo x >> /workspace/project/a.py; done' & sleep 0.2"))

    report = pod.run()

    assert report.leftovers.processes_swept >= 1
    assert not [line for line in report.snapshot.skipped if "changed" in line]
    members = archive.index(write(pod, "agent/snapshot.tar"))
    assert members["project/a.py"].size == (pod.root / "workspace/project/a.py").stat().st_size


def write(pod, name: str) -> Path:
    path = pod.root / "copy"
    path.write_bytes(pod.gateway.artifacts[name])
    return path


def test_a_fork_bomb_is_swept(pod):
    plan(pod, sh("ulimit -u 200; b() { b | b & }; b; sleep 60", 1))

    report = pod.run()

    assert report.ending == "deadline"
    assert pod.launch.returncode == 0


def test_output_that_is_closed_early_cut_or_no_text_is_kept_as_it_was(pod):
    plan(
        pod,
        sh(
            r"printf '\377\376\000\033[31m'; printf '\303'; sleep 0.1; printf '\244'; exec >&- 2>&-; sleep 0.2",
            name="odd",
        ),
        sh("head -c 20971520 /dev/zero | tr '\\0' x", name="line"),
    )
    (pod.root / "bin/tr").symlink_to("busybox")

    report = pod.run()

    assert [s.exit_code for s in report.steps] == [0, 0]
    assert pod.stream("stdout") == b"\xff\xfe\x00\x1b[31m\xc3\xa4" + b"x" * 20971520


HOSTILE = r"""
mkfifo fifo; ln -s /etc/shadow out; ln -s . loop; ln -s loop/loop/a.py deep; mkdir shut; touch shut/in; chmod 000 shut
touch "$(printf 'bad\377name')" "$(printf 'new\nline')" 'back\slash'; echo s > secret; chmod 000 secret
dd if=/dev/zero of=sparse bs=1 count=1 seek=1099511627776 2>/dev/null; mkdir -p A a; nc -l -p 4567 &
d=d; i=0; while [ $i -lt 100 ]; do mkdir $d && cd $d || break; i=$((i+1)); done
until grep -q :11D7 /proc/net/tcp*; do sleep 0.02; done  # until nc listens
"""


def test_a_hostile_tree_is_snapshot_as_far_as_it_goes(pod):
    plan(pod, sh(HOSTILE), snapshot_max_bytes=10_000_000)
    (pod.root / "bin/grep").symlink_to("busybox")
    pod.own_network = True

    report = pod.run()

    assert report.snapshot.state == "measured"
    members = archive.index(write(pod, "agent/snapshot.tar"))
    assert members["project/secret"].size == 2 and "project/shut/in" in members
    assert members["project/out"].target == "/etc/shadow"
    assert "project/bad\udcffname" in members and "project/new\nline" in members
    skipped = "\n".join(report.snapshot.skipped)
    assert "project/fifo: fifo" in skipped and "project/sparse: does not fit" in skipped and "too deep" in skipped
    assert report.leftovers.listening_ports == [4567]
    target = pod.root / "again"
    target.mkdir()
    done = archive.extract([pod.gateway.artifacts["agent/snapshot.tar"]], target, unsafe="skip")
    assert [line.partition(":")[0] for line in done.skipped] == ["project/out"]


def test_sigterm_from_outside_stops_the_agent_politely(pod):
    plan(pod, sh("trap 'echo bye; exit 0' TERM; echo up; sleep 60 & wait"))
    pod.set_up()
    pod.start()
    wait_for(lambda: "agent/streams/stdout/000000" in pod.gateway.artifacts or started(pod))

    os.kill(pod.launch_pid(), signal.SIGTERM)
    pod.launch.wait(20)
    report = pod.finish()

    assert (report.ending, report.complete) == ("stopped_from_outside", True)
    assert pod.stream("stdout") == b"up\nbye\n"


def started(pod) -> bool:
    """Whether the agent's sleep is running."""
    children = Path(f"/proc/{pod.launch_pid()}/task/{pod.launch_pid()}/children").read_text().split()
    return any(b"sleep" in Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children)


def wait_for(condition, seconds: float = 15.0) -> None:
    until = time.monotonic() + seconds
    while True:
        try:
            if condition():
                return
        except (OSError, IndexError):
            pass
        assert time.monotonic() < until, "did not happen in time"
        time.sleep(0.02)


def test_a_lost_launch_still_leaves_a_snapshot_and_a_report(pod):
    plan(pod, sh("echo work >> a.py; echo up; touch /tmp/up; sleep 60"))
    pod.set_up()
    pod.start()
    wait_for((pod.root / "tmp/up").exists)
    time.sleep(2)  # until launch has passed on what it was told

    os.kill(pod.launch_pid(), signal.SIGKILL)
    pod.launch.wait(20)
    report = pod.finish()

    assert (report.ending, report.complete) == ("launch_lost", False)
    assert "during step main" in report.message
    assert pod.stream("stdout") == b"up\n"
    assert b"+work\n" in pod.gateway.artifacts["agent/diff.patch"]


def test_a_lost_recorder_ends_the_agent(pod):
    plan(pod, sh("sleep 60"))
    pod.set_up()
    pod.start()
    wait_for(lambda: started(pod))

    pod.record.kill()
    pod.record.wait()

    assert pod.launch.wait(20) == 1
    assert json.loads(pod.termination())["reason"] == "ChannelBroken"


def test_a_restarted_recorder_takes_no_second_connection_and_keeps_what_was_stored(pod):
    plan(pod, sh("echo before; sleep 60"))
    pod.set_up()
    pod.start()
    wait_for(lambda: "agent/streams/stdout/000000" in pod.gateway.artifacts)
    pod.record.kill()
    pod.record.wait()
    pod.launch.wait(20)

    pod.start_record()
    wait_for(lambda: catches_sigterm(pod.record.pid))
    report = pod.finish()

    assert (report.ending, report.complete) == ("launch_lost", False)
    assert not (pod.root / "run/fairtrial/record.sock").exists()
    stdout = next(s for s in report.streams if s.name == "stdout")
    assert stdout.truncated and stdout.segments[0].size == len("before\n")
    assert report.snapshot.state == "measured"


def test_a_recorder_that_is_restarted_before_launch_has_come_records_all_the_same(pod):
    plan(pod, sh("echo done"))
    pod.set_up()
    wait_for(lambda: catches_sigterm(pod.record.pid) and (pod.root / "run/fairtrial/record.sock").exists())
    pod.record.kill()
    pod.record.wait()

    pod.start_record()
    pod.start()
    pod.launch.wait(60)
    report = pod.finish()

    assert (report.ending, report.complete) == ("finished", True)
    assert pod.stream("stdout") == b"done\n"


def catches_sigterm(pid: int) -> bool:
    lines = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)
    return bool(int(lines["SigCgt"], 16) & 1 << (signal.SIGTERM - 1))


def test_a_store_that_is_down_for_a_while_loses_nothing(pod):
    plan(pod, sh("echo kept"), upload_seconds=60)
    pod.set_up()
    pod.gateway.down_until = time.monotonic() + 5
    pod.start()
    pod.launch.wait(30)

    report = pod.finish()

    assert report.complete
    assert pod.stream("stdout") == b"kept\n"


@pytest.mark.parametrize(
    ("change", "ending"),
    [
        ({"preflight": [Preflight("p", ["/bin/sh", "-c", "exit 0"], [1])]}, "preflight_failed"),
        (
            {"preflight": [Preflight("p", ["/bin/sh", "-c", "echo x >> /workspace/project/a.py"], [0])]},
            "preflight_failed",
        ),
        ({"candidate_files": {"hint.txt": "fairtrial-canary-" + "0" * 32}}, "leak_found"),
        ({"env": {"HINT": "fairtrial-canary-" + "0" * 32}}, "leak_found"),
        ({"steps": [Step("main", ["/no/such/program"], 5)]}, "start_failed"),
    ],
)
def test_what_keeps_the_agent_from_starting(pod, change, ending):
    pod.plan = replace(pod.plan, steps=[sh("echo started")])
    pod.plan = replace(pod.plan, **change)

    report = pod.run()

    assert (report.ending, report.complete) == (ending, True)
    assert pod.stream("stdout") == b""


def test_an_open_way_out_means_that_the_agent_never_starts(pod):
    port = int(pod.gateway.url.rpartition(":")[2])
    plan(pod, sh("echo started"), probes=[Probe("open", "tcp", "127.0.0.1", port)])
    tool = pod.root / "bin/git"
    tool.write_text("#!/bin/sh\ntouch /tmp/ran\n")
    tool.chmod(0o755)

    report = pod.run()

    assert (report.ending, report.isolation) == ("isolation_not_enforced", "failed")
    assert report.probes[0].answers == ["connected"] * 18, "three attempts in each of six rounds"
    assert not (pod.root / "tmp/ran").exists(), "a program of the image ran before the proof"
    assert report.steps == [] and pod.stream("stdout") == b""


def setup_failure(pod) -> dict[str, str]:
    """What a pod tells whose workspace can't be laid out; launch has ended by itself, and nothing was recorded."""
    pod.start_record()
    pod.start()
    assert pod.launch.wait(60) == 1
    assert json.loads(pod.termination())["message"].startswith("The workspace could not be laid out: ")
    pod.record.send_signal(signal.SIGTERM)
    assert pod.record.wait(20) == 1
    assert pod.gateway.artifacts == {}
    return json.loads(pod.termination())


def test_what_is_not_the_bundle_is_refused_and_told_as_a_failure_of_the_setup(pod):
    pod.gateway.bundles[pod.plan.bundle_sha256] += bytes(512)

    told = setup_failure(pod)

    assert (told["reason"], told["during"]) == ("DigestMismatch", "setup")


def test_a_gateway_that_does_not_answer_is_waited_for_as_long_as_the_plan_says(pod):
    pod.gateway.down_until = float("inf")
    pod.plan = replace(pod.plan, fetch_seconds=2)

    assert setup_failure(pod)["reason"] == "GatewayUnavailable"
    assert pod.gateway.requests > 1


def test_a_setup_that_hangs_is_over_when_its_time_is(pod):
    pod.gateway.down_until = float("inf")
    pod.plan = replace(pod.plan, fetch_seconds=60, setup_seconds=2)

    told = setup_failure(pod)

    assert told["message"] == "The workspace was not laid out within 2 s."


def test_a_pod_that_is_stopped_while_it_is_set_up_ends_at_once(pod):
    pod.gateway.down_until = float("inf")
    pod.start_record()
    pod.start()
    wait_for((pod.root / "spool/connected").exists)

    os.kill(pod.launch_pid(), signal.SIGTERM)
    assert pod.launch.wait(20) == 1
    assert "Stopped before" in json.loads(pod.termination())["message"]
    pod.record.send_signal(signal.SIGTERM)
    assert pod.record.wait(20) == 0
    assert pod.gateway.artifacts == {}


def test_a_recorder_that_dies_while_launch_waits_for_the_layout_leaves_a_report_without_an_agent(pod):
    plan(pod, sh("echo started"))
    pod.gateway.down_until = float("inf")
    pod.start_record()
    pod.start()
    wait_for((pod.root / "spool/connected").exists)
    pod.record.kill()
    pod.record.wait()
    assert pod.launch.wait(20) == 1

    pod.gateway.down_until = 0.0
    pod.start_record()
    wait_for((pod.root / names.PLAN_FILE.lstrip("/")).exists)
    report = pod.finish()

    assert (report.ending, report.steps, report.isolation) == ("launch_lost", [], "not_applicable")
    assert pod.stream("stdout") == b""


def test_an_archive_that_escapes_is_refused_and_writes_nothing_outside(pod):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("../escaped"), io.BytesIO(b""))
    plan(pod, sh("true"), bundle_sha256=pod.gateway.add_bundle(made.getvalue()))

    assert setup_failure(pod)["reason"] == "UnsafeArchive"
    assert not (pod.root / "escaped").exists()


def test_a_layout_that_was_broken_off_begins_anew_and_one_that_is_done_is_left_alone(pod):
    half = pod.root / "workspace/project"
    half.mkdir()
    (half / "half.py").write_text("x")
    os.chown(half, names.USER_ID, names.USER_ID)
    pod.set_up()
    assert sorted(path.name for path in half.iterdir()) == ["a.py", "data.txt"]

    pod.record.kill()
    pod.record.wait()
    (half / "a.py").write_text("the agent's work")
    pod.start_record()
    pod.start()
    pod.launch.wait(60)
    pod.finish()

    assert b"+the agent's work" in pod.gateway.artifacts["agent/diff.patch"]
