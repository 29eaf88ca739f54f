"""The lab in the browser."""
