from setuptools import find_packages, setup

name = "shoal_rqt"

setup(
    name=name,
    version="0.1.0",
    description="Operator station, as an rqt plugin and as a window of its own",
    license="Apache-2.0",
    packages=find_packages(exclude=["test", "test.*"]),
    package_data={"shoal_rqt": ["py.typed"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{name}"]),
        (f"share/{name}", ["package.xml", "plugin.xml"]),
    ],
    install_requires=["shoal_core", "shoal_ros", "pyqtgraph", "pyside6-essentials<6.12"],
    extras_require={"test": ["pytest"]},
    python_requires=">=3.10",
    entry_points={"console_scripts": ["operator_station = shoal_rqt.window:main"]},
    zip_safe=False,
)
