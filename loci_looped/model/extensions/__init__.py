"""What goes beyond the paper, one small part per idea."""
