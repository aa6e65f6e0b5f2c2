"""The client for asyncio. The one for plain calls, `_sync`, is made from this one by scripts/generate.sh."""
