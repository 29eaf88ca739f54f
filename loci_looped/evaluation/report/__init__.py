"""One file that shows what was found: tables beside the published ones, curves, film strips and a film."""
