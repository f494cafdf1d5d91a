"""Which hyperparameters suit an environment? Tables, in TOML, and what reads them."""
