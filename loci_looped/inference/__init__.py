"""A trained network at work: streams, the one time loop, beliefs, stored networks, export."""
