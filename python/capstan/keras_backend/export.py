class CapstanExportArchive:
    """Keras's export to TensorFlow's SavedModel, which this backend does not have."""

    def track(self, resource):
        raise NotImplementedError("the capstan backend exports no SavedModel\n  help: model.save(\"model.keras\")")

    add_endpoint = track
