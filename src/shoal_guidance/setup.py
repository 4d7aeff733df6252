from setuptools import find_packages, setup

name = "shoal_guidance"

setup(
    name=name,
    version="0.1.0",
    description="Setpoint node: where the fleet shall be, ahead of time",
    license="Apache-2.0",
    packages=find_packages(exclude=["test", "test.*"]),
    package_data={"shoal_guidance": ["py.typed"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{name}"]),
        (f"share/{name}", ["package.xml"]),
    ],
    install_requires=["shoal_core", "shoal_ros"],
    extras_require={"test": ["pytest"]},
    python_requires=">=3.10",
    zip_safe=False,
    entry_points={"console_scripts": ["guidance = shoal_guidance.guidance:main"]},
)
