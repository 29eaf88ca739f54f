"""The paper's experiments over anything that speaks the `VideoModel` protocol; each fills a `Results`."""
