"""The page Models: every model that lessons can run on, in the order of how near it is, and what is in memory now;
models to try, and the families that can be read.
"""
import io
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import streamlit as st

from core.app.bar import model_offer, prompt_bar
from core.app.compute import cache
from core.app.compute.library import disk, loading, names, shelf
from core.app.compute.library.loading import readable_bytes, words
from core.app.parts.guard import guard
from core.app.state import model_choice, reader
from core.base import catalogue, devices, tables
from core.base.markdown import escaped, without_paths
from core.cost.counting import n_parameters
from core.huggingface import PretrainedError, is_here, is_offline, save_pretrained
from core.huggingface.tables import TITLES
from core.model import checkpoints
from core.model.config import ModelConfig

HUB_NAME = "models_hub_name"
MADE = "models_made"        # in the session: own model -> the zip, or the sentence why there is none


def draw() -> None:
    """The whole page: its title, the parts in two columns, and the table of families below them."""
    with st.container(key="lesson_head"):
        st.markdown(f"# {words().section('title')}\n{words().section('sentence')}")
    near, far = st.columns(2, gap="large")
    for column, parts in ((near, {"bundled": _bundled, "own": _own}),
                          (far, {"hub": _hub, "folders": _folders, "loaded": _loaded, "try": _to_try})):
        for name, part in parts.items():
            with column:
                _part(name, part)
    _part("families", _families)


def _part(name: str, part: Callable[[], None]) -> None:
    """A part of the page under its heading."""
    with st.container(key=f"lesson_models_{name}", gap="small"), guard():
        st.markdown(words().section(name))
        part()


def label(key: str, **values) -> str:
    """A line of the page's labels with {values} put in."""
    return words().label(key, **values)


def _row(name: str, described: str, note: str = "", verb: str = "use", place: str = "") -> None:
    """One model: what it is, and the button that makes it the one that every lesson shows. place: sets its second row
    on the page apart from the first.
    """
    with st.container(horizontal=True, vertical_alignment="center", key=f"models_row_{place}{name}"):
        st.markdown(described + (f"  \n:small[{note}]" if note else ""), width="stretch")
        if name in (model_choice.shown(), model_choice.loaded()):
            st.caption(label("shown" if name == model_choice.shown() else "picked"), width="content")
            model_offer.open_in(name, place=f"row_{place}")
        else:
            load = loading.loading_of(name)
            verb = "use" if cache.exists(name) else "watch" if load is not None and load.running else verb
            st.button(label(verb), key=f"models_use_{place}{name}", on_click=model_choice.want, args=(name,),
                      help=label("use_help") if verb == "use" else None)


def _sizes(config: ModelConfig) -> str:
    return label("sizes", n=n_parameters(config), layers=config.n_layers, heads=config.n_heads,
                 width=config.d_model, context=config.n_context)


def _bold(name: str) -> str:
    return f"**{escaped(name)}**"


def _bundled() -> None:
    for name in cache.model_names():
        note = prompt_bar.model_note(name)
        try:
            sizes = _sizes(checkpoints.bundled_config(name)) if name != cache.RANDOM_MODEL else ""
        except checkpoints.CheckpointError as error:
            sizes = escaped(cache.problem_of(error, name))
        _row(name, note or _bold(name), sizes)


def _own() -> None:
    own = model_choice.own()
    for name in own:
        loaded = cache.shared_model(name, reader.device())
        _row(name, _bold(name), f"{_sizes(loaded.model.config)}. {label('own_note')}")
        _transformers_file(name)
    if not own:
        st.caption(label("own_none"))


def _transformers_file(name: str) -> None:
    """A file of a reader's own model for transformers, made when it is asked for; or why there is none."""
    made = st.session_state.setdefault(MADE, {}).get(name)
    if made is None:
        st.button(label("save"), key=f"models_make_{name}", type="tertiary", icon=":material/archive:",
                  help=label("save_help"), on_click=_make, args=(name,))
    elif isinstance(made, bytes):
        st.download_button(label("saved", name=name), made, file_name=f"{name}.zip", mime="application/zip",
                           key=f"models_file_{name}", on_click="ignore")
    else:
        st.caption(escaped(label("save_cannot", why=made)))


def _make(name: str) -> None:
    """Callback."""
    loaded = cache.shared_model(name, devices.CPU)
    try:
        st.session_state[MADE][name] = transformers_zip(loaded)
    except PretrainedError as error:
        st.session_state[MADE][name] = without_paths(str(error))


def transformers_zip(loaded: cache.LoadedModel) -> bytes:
    """A model and its tokenizer as transformers' from_pretrained loads them, in one file.

    PretrainedError for one that transformers has no model for.
    """
    with tempfile.TemporaryDirectory() as folder:
        save_pretrained(loaded.model, loaded.tokenizer, folder)
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(Path(folder).iterdir()):
                archive.write(path, f"{loaded.name}/{path.name}")
    return packed.getvalue()


def _hub() -> None:
    if not names.is_hub_on():
        st.caption(label("hub_off"))
        return
    st.caption(label("hub_intro"))
    st.caption(label("hub_disk", taken=readable_bytes(disk.taken()), bound=readable_bytes(disk.bound())))
    with st.form("models_hub", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input(label("hub_field"), max_chars=200, placeholder=label("hub_example"), key=HUB_NAME)
        st.form_submit_button(label("look"), on_click=_ask_hub)
    written = _hub_name()
    if written and not names.is_hub_name(written):
        st.warning(label("hub_not_a_name"))
    elif written and not names.is_hub_offered(written):
        st.warning(label("hub_not_allowed", names=escaped(", ".join(names.hub_models()))))
    for name in names.hub_models():
        _row(names.ON_HUB + name, _bold(name), verb="look")


def _hub_name() -> str:
    """The name in the field."""
    return str(st.session_state.get(HUB_NAME, "")).strip().removeprefix(names.ON_HUB)


def _ask_hub() -> None:
    """Callback: the model in the field is asked for, if it may be."""
    model_choice.want(names.ON_HUB + _hub_name())


def _folders() -> None:
    found = names.folders()
    for name in found:
        _row(names.IN_FOLDER + name, _bold(name), verb="look")
    if not found:
        st.caption(label("folders_none"))


def _to_try() -> None:
    """The models to try, one below the other."""
    for model in tables.models_to_try():
        with st.container(gap="xsmall", key=f"models_try_{model.name}"):
            _tried(model)


def _tried(model: tables.ToTry) -> None:
    """One model to try, with the button that asks for it, or why there is none."""
    facts = label("try_facts", family=TITLES[model.family], n=f"{model.millions:,}", licence=model.licence,
                  disk=readable_bytes(round(1e9 * model.disk)), memory=readable_bytes(model.n_bytes))
    note = f"{facts}{' ' + label('try_terms') if model.terms else ''}  \n{model.why}"
    if names.is_hub_offered(model.name):
        _row(names.ON_HUB + model.name, _bold(model.name), note, verb="look", place="try_")
        if is_offline() and not is_here(model.name):
            st.caption(label("try_offline"))
        elif model_choice.wanted() == names.ON_HUB + model.name and not cache.exists(model_choice.wanted()):
            st.caption(label("try_wanted"))             # the offer may be out of sight
    else:
        st.markdown(f"{_bold(model.name)}  \n:small[{note}]")
        st.caption(label("try_not_offered" if names.is_hub_on() else "hub_off"))


def _families() -> None:
    """The table of families, by kind."""
    rows = [row for row in tables.families() if row.id in TITLES]
    st.markdown(words().section("checked"))
    with st.container(key="models_families"):
        for kind in dict.fromkeys(row.kind for row in rows):
            heads = [label(f"family_{kind}"), *(label(f"family_{name}") for name in ("special", "tokenizer", "seen"))]
            lines = [heads, ["---"] * len(heads), *(_family(row) for row in rows if row.kind == kind)]
            st.markdown("\n".join(f"| {' | '.join(cells)} |" for cells in lines))


def _family(row: tables.Family) -> list[str]:
    """The cells of one family."""
    link = f"/{catalogue.url_path(row.place.lesson)}?{row.place.query}"
    return [f"**{TITLES[row.id]}**: {row.models}", row.special, row.tokenizer,
            f"[{tables.name_of(row.place)}]({link})"]


def _loaded() -> None:
    listed = cache.shelf.listed()
    for name, n_bytes in listed:
        _row(name, label("loaded_row", name=model_offer.title(name), size=readable_bytes(n_bytes)), place="loaded_")
    key = "loaded_bound" if listed else "loaded_none"
    st.caption(label(key, taken=readable_bytes(cache.shelf.n_bytes), bound=readable_bytes(shelf.capacity()),
                     free=readable_bytes(devices.memory_free())))
