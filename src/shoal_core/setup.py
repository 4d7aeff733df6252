from setuptools import find_packages, setup

name = "shoal_core"

setup(
    name=name,
    version="0.1.0",
    description="Vehicles, control, guidance, simulation and experiments for fleets of underwater robots, without ROS",
    license="Apache-2.0",
    packages=find_packages(exclude=["test", "test.*"]),
    package_data={
        "shoal": [
            "py.typed",
            "messages/*.c",
            "vehicles/*.c",
            "estimation/*.c",
            "control/nmpc/*.c",
            "control/nmpc/backends/*.c",
            "control/nmpc/backends/*.h",
            "reports/templates/*",
        ]
    },
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{name}"]),
        (f"share/{name}", ["package.xml"]),
    ],
    install_requires=[
        "casadi",
        "dask",
        "distributed",
        "do-mpc",
        "gymnasium",
        "jinja2",
        "matplotlib",
        "mcap",
        "numpy",
        "opencv-python-headless",
        "pandas",
        "pettingzoo",
        "pillow",
        "plotly",
        "pyarrow",
        "pydantic>=2",
        "pyyaml",
        "rich",
        "rosbags",
        "scipy",
        "typer",
        "xarray",
    ],
    extras_require={"test": ["pytest"]},
    python_requires=">=3.10",
    zip_safe=False,
    entry_points={"console_scripts": ["shoal = shoal.cli:main"]},
)
