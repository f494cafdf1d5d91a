"""Which hyperparameters are known to suit an environment? Tables, in TOML, and what reads them."""
