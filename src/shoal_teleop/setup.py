from setuptools import find_packages, setup

name = "shoal_teleop"

setup(
    name=name,
    version="0.1.0",
    description="Joystick bridge: from a game controller to fleet commands",
    license="Apache-2.0",
    packages=find_packages(exclude=["test", "test.*"]),
    package_data={"shoal_teleop": ["py.typed"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{name}"]),
        (f"share/{name}", ["package.xml"]),
    ],
    install_requires=["shoal_core", "shoal_ros", "pygame-ce"],
    extras_require={"test": ["pytest"]},
    python_requires=">=3.10",
    zip_safe=False,
    entry_points={
        "console_scripts": [
            "teleop = shoal_teleop.teleop:main",
            "joystick = shoal_teleop.joystick:main",
            "keyboard = shoal_teleop.keyboard:main",
        ]
    },
)
