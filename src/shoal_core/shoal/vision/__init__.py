"""Fiducials in camera images: who carries which tag, its pose from an image, and images made with known geometry."""
