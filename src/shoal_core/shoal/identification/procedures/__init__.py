"""Procedures of Nielsen 2018 and Ng 2024, for comparison with the fit; each names its bias where it has one."""
