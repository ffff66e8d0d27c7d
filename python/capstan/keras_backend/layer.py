class CapstanLayer:
    """What a layer has of this backend: nothing."""
