"""From a description to pixels and masks."""
