from setuptools import find_packages, setup

name = "shoal_autopilot"

setup(
    name=name,
    version="0.1.0",
    description="Autopilot node with levels of autonomy, one per vehicle, and a pilot's input devices",
    license="Apache-2.0",
    packages=find_packages(exclude=["test", "test.*"]),
    package_data={"shoal_autopilot": ["py.typed", "*.html"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{name}"]),
        (f"share/{name}", ["package.xml"]),
    ],
    install_requires=["shoal_core", "shoal_ros", "shoal_teleop", "tornado"],
    extras_require={"test": ["pytest"]},
    python_requires=">=3.10",
    zip_safe=False,
    entry_points={
        "console_scripts": [
            "autopilot = shoal_autopilot.autopilot:main",
            "pilot_csv = shoal_autopilot.pilot_csv:main",
            "pilot_keyboard = shoal_autopilot.pilot_keyboard:main",
            "pilot_pad = shoal_autopilot.pilot_pad:main",
            "pilot_web = shoal_autopilot.pilot_web:main",
        ]
    },
)
