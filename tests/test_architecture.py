"""The house rules that a machine can hold: imports run downward, streamlit stays in the UI, transformers stays
out of the start.
"""
import ast
import functools
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent

# Top to bottom. A file may import from its own line and those below it, never from those above.
LAYERS = [
    ["app"],
    ["pages"],
    ["core.app.server"],
    ["core.app.shell"],
    ["core.app.lesson"],
    ["core.app.bar"],
    ["core.app.teaching"],
    ["core.app.parts"],
    ["core.app.state"],
    ["core.app.compute"],
    ["core.app.classroom"],
    ["core.app.streamlit"],
    ["core.takeaway"],
    ["core.components"],
    ["core.base"],
    ["core.figures"],
    ["core.sheets"],
    ["core.recordings"],
    ["core.language"],
    ["core.learning"],
    ["core.evaluation"],
    ["core.training"],
    ["core.huggingface"],
    ["core.analysis"],
    ["core.cost"],
    ["core.model"],
    ["core.files"],
]
HEAVY = {"torch", "streamlit", "core.model.transformer", "core.model.passes", "core.model.block", "core.model.trace"}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layer(module: str) -> int | None:
    for depth, names in enumerate(LAYERS):
        if any(module == name or module.startswith(name + ".") for name in names):
            return depth
    return None


@functools.cache
def imports(path: Path) -> set[str]:
    """Every module that the file names in an import, `from core.model import block` as core.model and core.model.block.
    """
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


FILES = sorted([*ROOT.glob("core/**/*.py"), *ROOT.glob("pages/**/*.py"), ROOT / "app.py"])


def owner(module: str) -> str | None:
    """The layer entry that a module belongs to, so that a folder may import within itself."""
    return next((name for names in LAYERS for name in names if module == name or module.startswith(name + ".")), None)


def test_every_file_has_a_layer():
    assert [module_name(f) for f in FILES
            if layer(module_name(f)) is None and module_name(f) not in ("core", "core.app")] == []


def test_imports_run_downward():
    wrong = []
    for file in FILES:
        here = module_name(file)
        for there in imports(file):
            if layer(there) is None or layer(here) is None or owner(there) == owner(here):
                continue
            if layer(there) <= layer(here):
                wrong.append(f"{here} imports {there}")
    assert wrong == []


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """The sets of modules of which each reaches each other one, by Tarjan's algorithm."""
    numbers: dict[str, int] = {}
    path: list[str] = []
    found = []

    def visit(module: str) -> int:
        numbers[module] = lowest = len(numbers)
        start = len(path)
        path.append(module)
        for other in graph[module]:
            if other not in numbers:
                lowest = min(lowest, visit(other))
            elif other in path:
                lowest = min(lowest, numbers[other])
        if lowest == numbers[module]:
            found.append(set(path[start:]))
            del path[start:]
        return lowest

    for module in graph:
        if module not in numbers:
            visit(module)
    return [one for one in found if len(one) > 1]


def test_modules_import_in_no_circle():
    """Imports for types count as well. A package that is named beside one of its modules does not."""
    names = {module_name(f) for f in FILES}
    graph = {module_name(f): {there for there in imports(f) & names
                              if not any(other.startswith(f"{there}.") for other in imports(f) & names)}
             - {module_name(f)} for f in FILES}
    assert circles(graph) == []
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()}) == [{"a", "b", "c"}]


def test_streamlit_is_imported_in_the_face_alone():
    face = ("core.app", "core.components", "pages", "app")
    assert [str(f) for f in FILES if any(m.split(".")[0] == "streamlit" for m in imports(f))
            and not module_name(f).startswith(face)] == []


def test_what_is_not_documented_of_streamlit_is_imported_in_one_room():
    parts = ("streamlit.runtime", "streamlit.proto", "streamlit.web", "streamlit.net_util")
    assert [str(f) for f in FILES if any(f"{there}.".startswith(f"{part}.") for there in imports(f) for part in parts)
            and not module_name(f).startswith("core.app.streamlit")] == []


def test_figures_know_neither_models_nor_streamlit():
    assert [str(f) for f in FILES
            if (module_name(f).startswith("core.figures") or f.stem.endswith("charts") and "pages" in f.parts)
            and imports(f) & HEAVY] == []


def test_the_app_starts_without_transformers():
    code = ("import sys, core.app.lesson.lesson, core.model.checkpoints, core.model.generation, core.huggingface; "
            "print('transformers' in sys.modules)")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "False", done.stderr


# ---- what no file does, so that nobody has to look for it ------------------------------------------------------------


def test_nothing_is_unpickled():
    """No file or message is read that can run code when it is read (Ray's own messages can: it stays out of the app); a
    training run's own checkpoint, which no reader reaches, by torch's reader of tensors alone.
    """
    assert [str(f) for f in FILES
            if imports(f) & {"pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal", "ray"}] == []
    for file in FILES:
        source = file.read_text(encoding="utf-8")
        assert source.count("torch.load(") == source.count("weights_only=True)"), file
        assert source.count("np.load(") == source.count("allow_pickle=False)") - source.count("np.save("), file


def test_markup_is_made_in_one_place_and_code_of_a_text_nowhere():
    """Streamlit is told to trust HTML only for the page's own style; pictures write text as text, and run none of it.
    """
    assert [str(f.relative_to(ROOT)) for f in FILES
            if re.search("unsafe_allow_html|unsafe_allow_javascript|st\\.html|components\\.v1|st\\.iframe",
                         f.read_text(encoding="utf-8"))] == ["core/app/shell/page_style.py"]
    for script in [*ROOT.glob("core/**/*.js"), *ROOT.glob("pages/**/*.js")]:
        written = re.findall(r"innerHTML|insertAdjacentHTML|document\.write|createContextualFragment|\beval\(|new "
                             r"Function|outerHTML *=|setAttribute\(.on|javascript:", script.read_text(encoding="utf-8"))
        assert written == [], script


def test_javascript_reads_no_names_of_the_frameworks():
    """One file alone, which a browser test walks, reads what is private of the libraries of charts."""
    scripts = {script.relative_to(ROOT): script.read_text(encoding="utf-8")
               for folder in ("core", "pages") for script in (ROOT / folder).rglob("*.js")}
    assert [str(path) for path, text in scripts.items() if re.search("data-testid|dataset\\.testid", text)] == []
    assert [path.name for path, text in scripts.items()
            if re.search("__data__|\\b_full(Data|Layout)", text)] == ["chart_marks.js"]


def test_the_sheet_of_every_page_names_no_page():
    rules = (ROOT / "core" / "app" / "shell" / "page.css").read_text(encoding="utf-8")
    pages = "|".join(path.parent.name for path in (ROOT / "pages").glob("*/page.py"))
    assert set(re.findall(rf"st-key-(?:{pages})_\w+", rules)) <= {"st-key-course_view_widget"}


def test_an_import_in_a_function_has_its_reason():
    """In the line or in the line above it: what is imported late is not loaded at every start."""
    found = []
    for file in FILES:
        lines = file.read_text(encoding="utf-8").splitlines()
        for function in (node for node in ast.walk(ast.parse("\n".join(lines))) if isinstance(node, ast.FunctionDef)):
            found += [f"{file.relative_to(ROOT)}:{node.lineno}" for node in ast.walk(function)
                      if isinstance(node, ast.Import | ast.ImportFrom)
                      and not any("#" in line for line in lines[node.lineno - 2:node.lineno])]
    assert found == []


def test_every_programme_is_named_after_its_room():
    """`python -m core.training`; what a room records, core.recordings runs."""
    assert [str(f.relative_to(ROOT)) for f in FILES if '__name__ == "__main__"' in f.read_text(encoding="utf-8")
            and f.name != "__main__.py"] == ["core/app/server/script.py"]


def test_the_app_reports_to_nobody():
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert (settings["browser"]["gatherUsageStats"] is False and settings["server"]["enableXsrfProtection"] is True
            and "enableCORS" not in settings["server"])
    assert ("enableAgentApi" not in settings["server"] and settings["client"]["showErrorDetails"] == "none"
            and settings["server"]["maxMessageSize"] <= 50)


def test_no_figure_draws_a_point_where_it_is_not():
    """A scale that clamps draws what lies beyond its domain at its edge."""
    clamped = [str(path.relative_to(ROOT)) for folder in ("core", "pages") for path in (ROOT / folder).rglob("*.py")
               if re.search(r"\bclamp\s*=\s*True|[\"']clamp[\"']\s*:", path.read_text(encoding="utf-8"))]
    assert clamped == []


def test_no_line_of_a_style_is_longer_than_120_characters():
    """The linters hold the other languages to it."""
    styles = (path for folder in ("core", "pages") for path in (ROOT / folder).rglob("*.css"))
    long = [f"{path.relative_to(ROOT)}:{number}" for path in styles
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1) if len(line) > 120]
    assert long == []


def test_what_is_computed_from_a_model_is_kept_under_its_name():
    """Else the next reader, with another model, is shown what the first one's has computed."""
    files = [*(ROOT / "core" / "app").rglob("*.py"), *(ROOT / "pages").rglob("*.py")]
    assert [fault for path in files for fault in kept_without_model(path)] == []


def kept_without_model(path: Path) -> list[str]:
    """The places where a result of a run or a loaded model is kept under a key that is made from neither."""
    found = []
    for function in (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)):
        local = {node.name: node for node in ast.walk(function) if isinstance(node, ast.FunctionDef)}
        local |= {node.targets[0].id: node.value for node in ast.walk(function)
                  if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)}
        for call in (node for node in ast.walk(function) if isinstance(node, ast.Call) and len(node.args) > 1):
            if re.fullmatch(r"(cache|growing_results)\.(result|made|growing)", ast.unparse(call.func)):
                key, make = (used_names(part).union(*(used_names(local[name]) for name in used_names(part) & {*local}))
                             for part in call.args[:2])
                if make & {"run", "loaded"} and not key & {"run", "loaded", "model"}:
                    found.append(f"{path.relative_to(ROOT)}:{call.lineno}")
    return found


def used_names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
