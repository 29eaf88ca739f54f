"""Small things every room uses: errors, files that appear whole, caches, checkpoints."""
