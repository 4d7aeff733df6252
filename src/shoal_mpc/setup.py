from setuptools import find_packages, setup

name = "shoal_mpc"

setup(
    name=name,
    version="0.1.0",
    description="Controller node, one per vehicle: predictive control with the plans of its neighbours",
    license="Apache-2.0",
    packages=find_packages(exclude=["test", "test.*"]),
    package_data={"shoal_mpc": ["py.typed"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{name}"]),
        (f"share/{name}", ["package.xml"]),
    ],
    install_requires=["shoal_core", "shoal_ros"],
    extras_require={"test": ["pytest"]},
    python_requires=">=3.10",
    zip_safe=False,
    entry_points={"console_scripts": ["mpc = shoal_mpc.mpc:main"]},
)
