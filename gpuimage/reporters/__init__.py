"""What the verbs print: one output format a module, one mapping from `--format` to it for each kind of result.

Nothing is imported here, so that `lint` loads none of what builds need: `results` and `lint` hold the mappings.
"""
