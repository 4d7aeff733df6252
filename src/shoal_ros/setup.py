from setuptools import find_packages, setup

name = "shoal_ros"

setup(
    name=name,
    version="0.1.0",
    description="How the core meets ROS 2: messages, frames, QoS profiles and the list of nodes of a fleet",
    license="Apache-2.0",
    packages=find_packages(exclude=["test", "test.*"]),
    package_data={"shoal_ros": ["py.typed", "loopback.xml"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{name}"]),
        (f"share/{name}", ["package.xml"]),
    ],
    install_requires=["shoal_core", "psutil"],
    extras_require={"test": ["pytest"]},
    python_requires=">=3.10",
    zip_safe=False,
    entry_points={"console_scripts": ["relay = shoal_ros.relay:main", "display = shoal_ros.display:main"]},
)
