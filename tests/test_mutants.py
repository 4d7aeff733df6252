"""The list of `make mutants` fits the code: every rule it switches off is still there, once, with tests to run."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mutants", ROOT / "tools" / "mutants.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutants"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


MODULE = load()


@pytest.mark.parametrize("mutant", MODULE.MUTANTS, ids=lambda m: m.name)
def test_each_mutant_fits_the_code(mutant: object, tmp_path: Path) -> None:
    file = Path("src/shoal_core/shoal") / mutant.file  # type: ignore[attr-defined]
    (tmp_path / file).parent.mkdir(parents=True)
    shutil.copy(ROOT / file, tmp_path / file)
    assert MODULE.mutate(tmp_path, mutant) is None
    if file.suffix == ".py":
        compile((tmp_path / file).read_text(encoding="utf-8"), str(file), "exec")
    assert (tmp_path / file).read_text() != (ROOT / file).read_text()
    for test in mutant.tests:  # type: ignore[attr-defined]
        name, _, function = test.partition("::")
        text = (ROOT / "src/shoal_core/test" / name).read_text(encoding="utf-8")
        assert f"def {function}(" in text or not function


def test_names_are_different() -> None:
    names = [mutant.name for mutant in MODULE.MUTANTS]
    assert len(set(names)) == len(names)
