from setuptools import find_packages, setup

name = "shoal_mavlink"

setup(
    name=name,
    version="0.1.0",
    description="ArduSub vehicles: thrust commands to RC overrides, the autopilot's estimate to odometry",
    license="Apache-2.0",
    packages=find_packages(exclude=["test", "test.*"]),
    package_data={"shoal_mavlink": ["py.typed", "*.lua"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{name}"]),
        (f"share/{name}", ["package.xml"]),
    ],
    install_requires=["shoal_core", "shoal_ros", "pymavlink"],
    extras_require={"test": ["pytest"]},
    python_requires=">=3.10",
    zip_safe=False,
    entry_points={
        "console_scripts": [
            "mavlink_bridge = shoal_mavlink.mavlink_bridge:main",
            "ardusub_stand_in = shoal_mavlink.stand_in:main",
        ]
    },
)
