"""Configuration files of training tools: JSON and YAML."""
