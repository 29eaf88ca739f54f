"""Configurations as earlier versions of the package wrote them, in today's words.

Until version 0.2 every idea beyond the paper was a field of the part it changed; today they stand together under
`extensions`. Stored networks and runs keep their files, so both spellings are read.
"""

from __future__ import annotations

from typing import Any

_TO_EXTENSIONS: dict[tuple[str, str], str] = {
    ("encoder", "position_prior"): "own_place",
    ("encoder", "explaining_away"): "explaining_away",
    ("encoder", "offsets"): "offsets",
    ("recruiting", "minimum_error"): "minimum_error",
    ("recruiting", "minimum_error_in_use"): "minimum_error_in_use",
    ("recruiting", "suppression"): "suppression",
}
_TO_RULES: dict[str, tuple[str, ...]] = {
    "transition": ("displacement", "inertia", "speed_from", "deviation", "persistence"),
    "gate": ("open_when_lost", "visibility_prior", "shuts_at", "shuts_at_in_use"),
}


def up_to_date(values: dict[str, Any]) -> dict[str, Any]:
    """A network's configuration in today's words; one that is so already comes back unchanged."""
    if "extensions" in values or "released" in values:
        return values
    new = {name: dict(part) if isinstance(part, dict) else part for name, part in values.items()}
    if "official" in new:
        new["released"] = new.pop("official")
    extensions: dict[str, Any] = {}
    for (part, field), name in _TO_EXTENSIONS.items():
        _move(new, part, field, extensions, name)
    limit: dict[str, Any] = {}
    _move(new, "encoder", "size_limit", limit, "limit")
    renamed: dict[str, Any] = {}
    for part, field in (("encoder", "gestalt_head"), ("encoder", "size_head"), ("recruiting", "newcomers")):
        _move(new, part, field, renamed, field)
    for field in ("initialisation", "own_object", "latent_grid"):
        if field in new:
            renamed[field] = new.pop(field)
    extensions |= {
        name: renamed[field] == value for field, name, value in (
            ("gestalt_head", "attended_gestalt", "attended"), ("newcomers", "newcomers_behind", "behind"),
            ("initialisation", "he_start", "he"), ("own_object", "painted_objects", "painted"),
            ("latent_grid", "aligned_grid", "aligned"),
        ) if field in renamed
    }
    if renamed.get("size_head") == "bounded":
        extensions["bounded_size"] = limit.get("limit", 0.15)
    rules: dict[str, Any] = {}
    for part, fields in _TO_RULES.items():
        for field in fields:
            _move(new, part, field, rules, field)
    if rules:
        extensions["rules"] = rules
    return {**new, "extensions": extensions} if extensions else new


def _move(values: dict[str, Any], part: str, field: str, into: dict[str, Any], name: str) -> None:
    if isinstance(values.get(part), dict) and field in values[part]:
        into[name] = values[part].pop(field)
