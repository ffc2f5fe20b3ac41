"""What a container's own cgroup counts, in both versions of it; and that the report holds it."""

from pathlib import Path

import pytest
from fairtrial_runner.account import Account

from fairtrial.documents import AgentPlan, Consumption, RunIdentity
from fairtrial.errors import InvalidInput
from fairtrial.process.consumption import Counters

V2 = {
    "cgroup.controllers": "cpu memory pids\n",
    "cpu.stat": "usage_usec 5000\nuser_usec 4000\nnr_periods 40\nnr_throttled 7\nthrottled_usec 900\n",
    "memory.peak": "7340032\n",
}
V1 = {
    "cpu/cpu.stat": "nr_periods 40\nnr_throttled 7\nthrottled_time 900999\nnr_bursts 0\nburst_time 0\n",
    "cpuacct/cpuacct.usage": "5000999\n",
    "memory/memory.max_usage_in_bytes": "7340032\n",
}


def mounted(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


@pytest.mark.parametrize("files", [V2, V1], ids=["v2", "v1"])
def test_both_versions_of_cgroups_tell_the_same(tmp_path: Path, files: dict[str, str]) -> None:
    assert Counters.read(mounted(tmp_path, files)) == Counters(5000, 40, 7, 900, 7340032)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, Counters()),
        ({"cgroup.controllers": "", "cpu.stat": "usage_usec 5000\n"}, Counters(cpu_us=5000)),  # no quota, an old kernel
        ({"cpu/cpu.stat": "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n"}, Counters(None, 0, 0, 0, None)),
        ({"cgroup.controllers": "", "cpu.stat": "usage_usec many\n", "memory.peak": "max\n"}, Counters()),
        ({"cpuacct/cpuacct.usage": "-4\n"}, Counters()),
    ],
    ids=["no cgroup", "v2 that tells little", "v1 without memory", "words", "a negative count"],
)
def test_what_the_kernel_does_not_tell_is_none_and_no_zero(
    tmp_path: Path, files: dict[str, str], expected: Counters
) -> None:
    assert Counters.read(mounted(tmp_path, files)) == expected


def test_counts_are_of_the_time_between_two_readings_and_the_peak_is_the_last_one() -> None:
    before, after = Counters(100, 10, 1, 5, 400), Counters(450, 30, 4, 65, 900)

    assert after.since(before) == Counters(350, 20, 3, 60, 900)


def test_a_counter_that_one_reading_lacks_or_that_ran_backwards_is_none() -> None:
    assert Counters(450, None, 4, 1).since(Counters(None, 10, 1, 5)) == Counters(None, None, 3, None)


def account() -> Account:
    return Account(AgentPlan(RunIdentity("trials", "run-1", "uid"), "a" * 64, []), "pod")


def test_the_report_has_what_launch_told_of_its_container() -> None:
    made = account()
    made.told({"type": "consumption", "value": {"cpuUs": 5000, "throttledUs": None}}, {})

    assert made.report([], [], []).consumption == Consumption(cpu_us=5000)


def test_without_a_word_of_launch_there_is_no_consumption_and_what_does_not_fit_is_refused() -> None:
    made = account()

    assert made.report([], [], []).consumption is None
    with pytest.raises(InvalidInput, match=r"consumption\.cpuUs"):
        made.told({"type": "consumption", "value": {"cpuUs": "much"}}, {})
