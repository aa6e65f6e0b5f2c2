"""Tries several fixes of one bug at once, and says which of them pass the tests.

The project is set up once; each fix gets a clone of that sandbox. A clone is there in a fraction of the time that a
set-up takes, and shares its memory.
"""

import asyncio

from atoll import ApiError, AsyncSandbox

PROGRAM = "def add(a, b):\n    {}\n"
TESTS = "from program import add\n\nassert add(2, 3) == 5\nassert add(-1, 1) == 0\n"
FIXES = ["return a - b", "return a + b", "return b + a", "return a * b"]


async def passes(clone: AsyncSandbox | ApiError, fix: str) -> bool:
    """Puts a fix in place and runs the tests. The clone is gone then."""
    if isinstance(clone, ApiError):
        raise clone
    async with clone:
        await clone.files.write("/srv/program.py", PROGRAM.format(fix))
        result = await clone.exec("python3", ["tests.py"], cwd="/srv", timeout_ms=30_000)
        return result.exit_code == 0


async def main() -> None:
    """Sets up, clones, tries and tells."""
    base = await AsyncSandbox.create(egress={"mode": "deny_all"})
    # Where a real project would be cloned, and what it needs installed.
    await base.files.write("/srv/tests.py", TESTS)
    snapshot = await base.snapshot()
    try:
        clones = await snapshot.clone(len(FIXES))
        outcomes = await asyncio.gather(*map(passes, clones, FIXES))
    finally:
        await snapshot.delete()
    for fix, passed in zip(FIXES, outcomes, strict=True):
        print(f"{fix}: {'passes' if passed else 'fails'}")


asyncio.run(main())
