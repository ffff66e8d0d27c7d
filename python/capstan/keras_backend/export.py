class CapstanExportArchive:
    """Keras's export to TensorFlow's SavedModel, which this backend does not have."""

    def track(self, *args, **kwargs):
        raise NotImplementedError("the capstan backend exports no SavedModel\n  help: model.save(\"model.keras\")")

    add_endpoint = track_and_add_endpoint = track
