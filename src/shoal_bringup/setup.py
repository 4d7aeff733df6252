import os
import sys

from setuptools import find_packages, setup

name = "shoal_bringup"


def shared(folder: str) -> list[tuple[str, list[str]]]:
    """Files below `folder` with their place in share/. A link to the repository's folder: colcon wants paths inside.

    Not for pip's editable installs: a copy in the environment would grow stale, and the checkout is found without it.
    """
    if "editable_wheel" in sys.argv:
        return []
    return [
        (f"share/{name}/{here}", [f"{here}/{file}" for file in sorted(files)])
        for here, _, files in os.walk(folder)
        if files and "__pycache__" not in here
    ]


setup(
    name=name,
    version="0.1.0",
    description="Launch files, configuration, worlds and models of Shoal, installed as shared files",
    license="Apache-2.0",
    packages=find_packages(exclude=["test", "test.*"]),
    package_data={name: ["py.typed"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{name}"]),
        (f"share/{name}", ["package.xml"]),
        *(entry for folder in ("config", "launch", "worlds", "models") for entry in shared(folder)),
    ],
    install_requires=["shoal_core", "shoal_ros"],
    extras_require={"test": ["pytest"]},
    python_requires=">=3.10",
    zip_safe=False,
)
