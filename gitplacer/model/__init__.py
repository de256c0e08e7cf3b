"""The nouns: frozen values and their arithmetic. Nothing here knows YAML, git or a policy."""
