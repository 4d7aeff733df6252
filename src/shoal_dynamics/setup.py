from setuptools import find_packages, setup

name = "shoal_dynamics"

setup(
    name=name,
    version="0.1.0",
    description="Vehicle dynamics node: the built-in plant of a whole fleet, which also owns /clock",
    license="Apache-2.0",
    packages=find_packages(exclude=["test", "test.*"]),
    package_data={"shoal_dynamics": ["py.typed"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{name}"]),
        (f"share/{name}", ["package.xml"]),
    ],
    install_requires=["shoal_core", "shoal_ros"],
    extras_require={"test": ["pytest"]},
    python_requires=">=3.10",
    zip_safe=False,
    entry_points={"console_scripts": ["dynamics = shoal_dynamics.dynamics:main"]},
)
