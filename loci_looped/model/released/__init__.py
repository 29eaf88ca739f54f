"""The authors' released code: its quirks as replacements of parts, and the reader of its checkpoints."""
