"""The offer under the prompt bar while the reader asks for a model that the page does not show. For a model that is not
loaded: what it is, whether it fits, a button to load it, and its progress. For a loaded model that is no decoder: the
lesson that shows it.
"""
import streamlit as st

from core.analysis import attribution
from core.app.bar import model_notes
from core.app.compute import cache
from core.app.compute.library import loading, names
from core.app.compute.library.loading import Task, readable_bytes, words
from core.app.compute.library.pace import readable_seconds
from core.app.parts import prompt_use
from core.app.parts.guard import fragment
from core.app.state import model_choice, reader, run
from core.base import catalogue, devices, prose
from core.base.markdown import code, escaped
from core.huggingface import Preview
from core.model.config import ModelConfig

EVERY = 0.6         # seconds between two looks at a running task
MOST_NAMED = 6      # classes of a classifier that its description names


def draw() -> None:
    """Draw the offer if one is due."""
    name = model_choice.wanted()
    if model_choice.loaded() is not None:
        _where(name)
        return
    if not names.is_library_name(name):
        return
    with st.container(key="model_offer", border=True, gap="xsmall"):
        st.markdown(words().label("wanted", name=title(name), shown=escaped(model_choice.shown())))
        look, load = loading.look(name), loading.loading_of(name)
        waits = look.running or load is not None and load.running
        fragment(lambda: _offer(name, waits), run_every=EVERY if waits else None)()


def _where(name: str) -> None:
    """Say what the page shows of a loaded model that is no decoder, and link to the lesson where it is at work.

    Decoders are shown everywhere. Present mode says only what the page refuses to show.
    """
    kind = cache.kind(name)
    if kind == catalogue.DECODER:
        return
    is_live = model_choice.page() == catalogue.live(kind)[0]
    if reader.present() and (name == model_choice.shown() or is_live):
        return
    values = {"name": title(name), "shown": escaped(model_choice.shown()), "view": _live_view(kind)}
    config = cache.shared_model(name, devices.CPU).model.config
    values["head"] = head_words(config)
    if name == model_choice.shown() or is_live:
        with st.container(key="model_where", horizontal=True, vertical_alignment="center", gap="small"):
            key = f"{kind}_{'live' if is_live else 'here'}{_bare(config, is_live)}"
            st.caption(words().label(key, **values), width="content")
            # no link to the open page; a model that works nowhere is shown by this page as well as by the app's home
            if prompt_use.now().model != name and (is_live or _works(config)):
                open_in(name, "tertiary")
        if is_live:
            _whose(name)
        return
    with st.container(key="model_offer", border=True, gap="xsmall"):
        st.markdown(words().label(f"{kind}_not", **values))
        if not reader.present():
            _whose(name)
        with _buttons():
            open_in(name, "primary")
            # those of what goes into a model, then those of the whole and of its blocks
            for entry in sorted(catalogue.existing(), key=lambda entry: entry.section != "input"):
                # without a head that works, the first button leads home
                if catalogue.runs(entry.id, kind) and (entry.id != catalogue.HOME or _works(config)):
                    _open(name, entry.id, entry.first(kind), "", "secondary")
            _stay()


def _whose(name: str) -> None:
    """Say whose a model of the library is."""
    if names.is_library_name(name):
        st.caption(model_notes.whose(cache.shared_model(name, devices.CPU)))


def _live_view(kind: str) -> str:
    lesson, view = catalogue.live(kind)
    return prose.load(lesson).label(catalogue.entry(lesson).label(view))


def open_in(name: str, weight: str = "secondary", place: str = "") -> None:
    """Draw the button to the lesson where a loaded model that is no decoder is at work; none for a model that every
    lesson shows. place: where on the page the button stands. An encoder with neither a language head nor classes is at
    work nowhere: its button opens the app's home, which shows its pass.
    """
    kind = cache.kind(name)
    if kind == catalogue.DECODER:
        return
    if _works(cache.shared_model(name, devices.CPU).model.config):
        _open(name, *catalogue.live(kind), place, weight, f": {_live_view(kind)}")
    else:
        _open(name, catalogue.HOME, "", place, weight)


def _works(config: ModelConfig) -> bool:
    """Whether a model that is no decoder has a head that Architectures shows."""
    return config.head.output_head == "language" or config.head.n_classes > 0


def _bare(config: ModelConfig, live: bool) -> str:
    """The end of the label on a model: "" for a model with a language head. live: the page is Architectures, where a
    classifier is at work as well.
    """
    if config.head.output_head == "language" or live and config.head.n_classes:
        return ""
    return "_classes" if config.head.n_classes else "_bare"


def head_words(config: ModelConfig) -> str:
    """The purpose of a model without a language head: Markdown; "" for a model with such a head."""
    if config.head.output_head == "language":
        return ""
    named = ", ".join(map(escaped, config.head.class_names[:MOST_NAMED]))
    more = ", …" if len(config.head.class_names) > MOST_NAMED else ""
    return words().label(f"head_{config.head.output_head}", n=config.head.n_classes, names=named + more)


def _open(name: str, lesson: str, view: str, place: str, weight: str, said: str = "") -> None:
    lesson_name = prose.load("app").label(f"lesson_{lesson}")
    if st.button(words().label("open_in", lesson=lesson_name + said), key=f"model_open_{place}{lesson}", type=weight):
        reader.open_lesson(lesson, {"model": name} | catalogue.entry(lesson).opening(view))


def title(name: str) -> str:
    """A model's name as Markdown shows it, without the mark of its origin."""
    return escaped(names.short(name))


def _offer(name: str, waited: bool) -> None:
    """Draw the present state of an offered model.

    When a look or a loading begins or ends, the whole page runs once more: it decides whether this fragment has
    anything to wait for (`waited`).
    """
    if cache.exists(name):
        st.rerun()
    look, load = loading.look(name), loading.loading_of(name)
    if look.running or load is not None and load.running:
        if not waited:
            st.rerun()
        _progress(name, load if load is not None and load.running else look)
        return
    if waited:
        st.rerun()
    if look.problem is not None:
        _refused(name, look.problem)
    else:
        _described(name, look.result, load)


def _progress(name: str, task: Task) -> None:
    if task is loading.look(name):
        st.progress(0.0, text=words().label("looking", name=title(name)))
        return
    part = task.done / task.total if task.total else 0.0
    phase = "stopping" if task.stopping else task.phase
    said = words().label(phase, name=title(name), done=readable_bytes(task.done), total=readable_bytes(task.total))
    left = task.pace.seconds_left() if phase in ("download", "reading") else None
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.progress(min(1.0, part), text=said if left is None else words().label(
            "time_left", said=said, time=readable_seconds(left)))
        st.button(words().label("stop"), key="model_stop", icon=":material/stop:", disabled=task.stopping,
                  help=words().label("stop_help"), on_click=task.stop)


def _refused(name: str, problem: loading.Problem) -> None:
    st.warning(escaped(problem.sentence))
    with _buttons():
        _again(name)
        _stay()


def _described(name: str, preview: Preview, load: Task | None) -> None:
    config, room = preview.config, loading.room_for(preview)
    device = prose.load("app").label(f"device_{_device_for(preview)}")
    lines = [words().label("preview", family=preview.family, kind=words().label(f"kind_{config.kind}"),
                           n=preview.n_parameters, layers=config.n_layers, heads=config.n_heads, width=config.d_model,
                           context=config.n_context, vocabulary=config.vocab_size),
             words().label("preview_memory", dtype=preview.dtype, needed=readable_bytes(room.needed),
                           free=readable_bytes(room.free), bound=readable_bytes(room.bound), device=device)]
    lines += ([words().label("preview_download", download=readable_bytes(preview.download_bytes))]
              if preview.download_bytes else [])
    if config.kind == "decoder":
        heaviest = readable_bytes(attribution.memory(config, run.room(config)))
        lines.append(words().label("preview_heaviest", heaviest=heaviest, twin=readable_bytes(preview.n_bytes)))
    if preview.config.head.text_alone:
        parts = " and ".join(words().label("preview_part", name=code(part), tensors=tensors, numbers=numbers)
                             for part, tensors, numbers in preview.left_out)
        lines.append(words().label("preview_text_alone", parts=f" ({parts})" if parts else ""))
    lines += model_notes.without_effect(preview.passed_over)
    lines += [] if preview.tokenizer else [words().label("preview_no_tokenizer")]
    if config.head.output_head != "language":
        lines.append(words().label("preview_bare", head=head_words(config)))
    elif config.kind != "decoder":
        lines.append(words().label(f"preview_{config.kind}"))
    st.markdown("  \n".join(lines))
    problem = loading.refusal(preview) or (load.problem if load is not None else None)
    if problem is not None:
        (st.info if problem.reason == "stopped" else st.warning)(escaped(problem.sentence))
    with _buttons():
        if problem is None or load is not None and problem is load.problem:
            st.button(words().label("load"), key="model_load", type="primary", icon=":material/download:",
                      on_click=loading.load, args=(name,))
        else:
            _again(name)
        _stay()


def _device_for(preview: Preview) -> str:
    """The device that the model will run on: the reader's, or the CPU if the reader's has no room."""
    device = reader.device()
    return device if device == devices.CPU or devices.memory_free(device) > preview.n_bytes else devices.CPU


def _buttons():
    return st.container(horizontal=True, gap="small")


def _again(name: str) -> None:
    st.button(words().label("again"), key="model_again", on_click=_look_again, args=(name,))


def _stay() -> None:
    shown = model_choice.shown()
    st.button(words().label("stay", shown=escaped(shown)), key="model_stay", type="tertiary",
              on_click=model_choice.want, args=(shown,))


def _look_again(name: str) -> None:
    loading.forget(name)
    loading.look(name, again=True)
