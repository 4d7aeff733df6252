from setuptools import find_packages, setup

name = "shoal_assembly"

setup(
    name=name,
    version="0.1.0",
    description="Nodes for vehicles that join: fleet manager of platforms, detector of fiducials, bridge to the tank",
    license="Apache-2.0",
    packages=find_packages(exclude=["test", "test.*"]),
    package_data={"shoal_assembly": ["py.typed"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{name}"]),
        (f"share/{name}", ["package.xml"]),
    ],
    install_requires=["shoal_core", "shoal_ros"],
    extras_require={"test": ["pytest"]},
    python_requires=">=3.10",
    zip_safe=False,
    entry_points={
        "console_scripts": [
            "fleet_manager = shoal_assembly.fleet_manager:main",
            "tag_detector = shoal_assembly.tag_detector:main",
            "tank_bridge = shoal_assembly.tank_bridge:main",
        ]
    },
)
