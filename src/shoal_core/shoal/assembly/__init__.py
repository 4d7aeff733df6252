"""Rigidly joined vehicles: joints, the constraint engine, and the composite that a controller flies."""
