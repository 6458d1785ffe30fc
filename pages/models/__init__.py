"""The page Models: which model all lessons run on."""
