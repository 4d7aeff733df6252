from setuptools import find_packages, setup

name = "shoal_gazebo"

setup(
    name=name,
    version="0.1.0",
    description="Gazebo: models and worlds generated from config/vehicles, bridge rendered per vehicle, watchdog",
    license="Apache-2.0",
    packages=find_packages(exclude=["test", "test.*"]),
    package_data={name: ["py.typed", "templates/*.jinja", "visual_files/*.yaml"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{name}"]),
        (f"share/{name}", ["package.xml"]),
    ],
    install_requires=["shoal_core", "shoal_ros", "jinja2"],
    extras_require={"test": ["pytest"]},
    python_requires=">=3.10",
    zip_safe=False,
    entry_points={
        "console_scripts": [
            "thrust_watchdog = shoal_gazebo.thrust_watchdog:main",
            "clock_relay = shoal_gazebo.clock_relay:main",
            "port_keeper = shoal_gazebo.port_keeper:main",
        ]
    },
)
