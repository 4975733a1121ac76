"""Golden cases of transforms, predicates and chains of transforms."""

from __future__ import annotations

from typing import Any

from kconnect.core.task.batch import FEW
from kconnect.core.task.steps import Step, Steps
from tests.rig.golden import plugins, records
from tests.rig.golden.errors import Case, Difference, Failed, expect, only, phase, same


def transform(case: Case) -> None:
    only(case, "id", "kind", "class", "config", "predicate", "in", "out", "error", validation=...)
    check_validation(case, "transformation")

    def run() -> Any:
        (step,) = _steps([case])
        record = records.build(case["kind"], case["in"])
        with phase("apply"):
            return step.one(record)

    found = expect(case["error"], run)
    if case["error"] is None:
        records.check(found, case["out"])
        # And as a task has it, which gives a transform many alike at once.
        for each in Steps(_steps([case])).apply([records.build(case["kind"], case["in"]) for _ in range(FEW)]):
            records.check(each, case["out"])


def predicate(case: Case) -> None:
    only(case, "id", "kind", "class", "config", "in", "result", "error", validation=...)
    check_validation(case, "predicate")

    def run() -> Any:
        made = _configured(case, "predicate")
        record = records.build(case["kind"], case["in"])
        with phase("test"):
            return made.test(record)

    found = expect(case["error"], run)
    if case["error"] is None:
        same(found, case["result"])


def chain(case: Case) -> None:
    """As a task runs it; and each shorter chain before it, to see which step it was that dropped the record or failed."""
    only(case, "id", "kind", "steps", "ins", "outs")
    same(len(case["outs"]), len(case["ins"]), "how many outs")
    for step in case["steps"]:
        only(step, "class", "config", predicate=...)
    chains = [Steps(_steps(case["steps"][: length + 1])) for length in range(len(case["steps"]))]
    for body, wanted in zip(case["ins"], case["outs"]):
        only(wanted, "out", "error", "stopped_at")
        stopped: list[int] = []

        def run(body: Case = body, stopped: list[int] = stopped) -> Any:
            found: Any = records.build(case["kind"], body)
            for index, steps in enumerate(chains):
                stopped[:] = [index]
                (found,) = _through(steps, records.build(case["kind"], body))
                if found is None:
                    return None
            stopped.clear()
            return found

        found = expect(wanted["error"], run)
        same(stopped[0] if stopped else None, wanted["stopped_at"], "stopped_at")
        if wanted["error"] is None:
            records.check(found, wanted["out"])


def check_validation(case: Case, kind: str) -> None:
    """A config that can't be used has messages, a setting, with those of its predicate; the files tell them of those only."""
    error = case["error"]
    if error is None or error.get("phase") != "configure":
        if "validation" in case:
            raise Difference("validation of a config that can't be used only", case["validation"])
        return
    if "validation" in case:
        wanted = {name: messages for name, messages in case["validation"].items() if messages}
        parts = [(case, kind), *([(case["predicate"], "predicate")] if case.get("predicate") else [])]
        found = [plugins.validation(plugins.load(part["class"], of)(), part["config"]) for part, of in parts]
        same({name: messages for each in found for name, messages in each.items()}, wanted, "validation")


def _steps(steps: list[Case]) -> list[Step]:
    made = []
    for index, step in enumerate(steps):
        configured = _configured(step, "transformation")
        asked = step.get("predicate")
        if asked is None:
            made.append(Step(f"t{index}", configured.apply, apply_batch=configured.apply_batch))
            continue
        only(asked, "class", "config", "negate")
        made.append(Step(f"t{index}", configured.apply, _configured(asked, "predicate").test, asked["negate"]))
    return made


def _configured(described: Case, kind: str) -> Any:
    made = plugins.load(described["class"], kind)()
    with phase("configure"):
        made.configure(described["config"])
    return made


def _through(steps: Steps, record: Any) -> list[Any]:
    try:
        return steps.apply([record])
    except Exception as error:
        # The task's error names step and record; what the transform raised is its cause.
        cause = error.__cause__
        raise Failed("apply", cause if isinstance(cause, Exception) else error) from error
