"""Typed vehicle descriptions and the symbolic dynamics made from them."""
