"""Formats on disk, reader and writer side by side: ADEPT, CLEVRER, G-SWM, films and folders of frames."""
