"""The client for plain calls, made from `_aio` by scripts/generate.sh. Only runtime.py is written by hand."""
