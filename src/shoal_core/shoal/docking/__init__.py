"""Rendezvous and docking: Nielsen 2018's cooperative control as a baseline, and docking by shared plans."""
