"""Runs engines in turn under the same load and compares them."""
