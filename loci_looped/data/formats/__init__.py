"""Readers of the real releases (ADEPT, CLEVRER, G-SWM) and of anybody's film or folder of frames."""
