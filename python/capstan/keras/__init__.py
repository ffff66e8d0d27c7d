
optimizers = None
