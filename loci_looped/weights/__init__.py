"""Small networks trained with this package, shipped with it."""
