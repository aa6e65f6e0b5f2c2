from __future__ import annotations

import pytest

from atoll._parse import parse
from atoll.answers import CloneList, ErrorInfo, ExecResult, ImageInfo, PoolInfo, SandboxId
from atoll.errors import UnexpectedAnswerError

POOL = {
    "id": "a",
    "image_id": None,
    "vcpu_count": 1,
    "mem_size_mib": 128,
    "warm_count": 1,
    "max_count": None,
    "warm_ready": 0,
    "claimed": 0,
}


def test_what_a_newer_daemon_adds_is_left_out() -> None:
    assert parse(PoolInfo, {**POOL, "added": {"later": True}}) == PoolInfo(**POOL)  # type: ignore[arg-type]


def test_what_is_optional_may_be_absent() -> None:
    result = parse(ExecResult, {"stdout": "", "stderr": "", "exit_code": 0})
    assert (result.timed_out, result.stdout_base64) == (None, None)


def test_one_of_several_shapes_is_found() -> None:
    answer = parse(CloneList, {"sandboxes": [{"id": "1"}, {"error": "no", "code": "NAME_TAKEN"}]})
    assert answer.sandboxes == [SandboxId(id="1"), ErrorInfo(error="no", code="NAME_TAKEN")]


def test_a_list_may_be_null() -> None:
    fields = {"id": "a", "size_mib": 1, "created_at_unix": 1, "guest_agent_verified": False, "verification_hint": ""}
    assert parse(ImageInfo, {**fields, "in_use_by": None}).in_use_by is None
    assert parse(ImageInfo, {**fields, "in_use_by": ["sandbox a"]}).in_use_by == ["sandbox a"]
    with pytest.raises(UnexpectedAnswerError, match=r"in_use_by"):
        parse(ImageInfo, {**fields, "in_use_by": "sandbox a"})


@pytest.mark.parametrize(
    ("change", "named"),
    [({"vcpu_count": "1"}, "vcpu_count"), ({"vcpu_count": True}, "vcpu_count"), ({"id": None}, "id")],
)
def test_another_type_is_an_error_that_names_the_field(change: dict[str, object], named: str) -> None:
    with pytest.raises(UnexpectedAnswerError, match=f"PoolInfo.{named}"):
        parse(PoolInfo, {**POOL, **change})


def test_a_missing_field_is_an_error_that_names_it() -> None:
    with pytest.raises(UnexpectedAnswerError, match=r"SandboxId\.id"):
        parse(SandboxId, {})
