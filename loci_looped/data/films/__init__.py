"""Anybody's films made fit for a network: framed, tested for a still camera, cut into shots, freed of their objects."""
