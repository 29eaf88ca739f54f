"""Other models and reference filters, all speaking the same protocol as Loci-Looped."""
