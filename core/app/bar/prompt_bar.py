"""The shared prompt in one row: the text, example and saved prompts, the model and where it runs, present mode, and the
link to share.

A drawer is filled when it opens: otherwise the contents of closed drawers, a sixth of the page, would be drawn at every
change of every page.
"""
import base64
import pkgutil
import urllib.parse

import streamlit as st

from core.app.bar import model_notes, model_offer
from core.app.compute import cache
from core.app.compute.library import names
from core.app.parts import prompt_use
from core.app.parts.guard import fragment
from core.app.state import address, model_choice, notices, prompts, reader, run
from core.app.state.fragments import BAR, PICTURE, rerun
from core.app.teaching import live_class
from core.base import catalogue, devices, finder, prose, signs
from core.base.markdown import escaped
from core.base.qr import qr_code
from core.components import addresses
from core.components.palette import palette

FINDER = "places"       # the route that answers with all places of the app
SAID = "prompt_bar_says"        # in the session: the use of the prompt that the bar shows
QR_CHARACTERS = 1_200   # more make a code too fine for a projector


def draw() -> None:
    """Draw the bar, a fragment, so that a drawer that opens redraws nothing else."""
    fragment(_bar, key=BAR)()


def _bar() -> None:
    """Draw the row, and below it what the reader has to know: a random model, a cut text, a value that was left out."""
    words = prose.load("app")
    present, use = run.current(), prompt_use.now()
    st.session_state[SAID] = use
    with st.container(key="prompt_bar", horizontal=True, vertical_alignment="center", gap="small"):
        with st.container(key="prompt_place"):
            st.text_area(words.label("prompt"), key="prompt", on_change=_take_prompt,
                         label_visibility="collapsed", placeholder=words.label("prompt_help"), height=68)
            if not use.is_read:
                with st.container(key="prompt_unread"):
                    st.caption(words.label("prompt_unread"))
        _find(words)
        if not reader.present():
            _examples(words)
            _model(words, present, use.model)
            _share(words, present)
        elif use.model or present.model_name != cache.model_names()[0]:
            _named(present, use.model)
        if live_class.is_offered():
            live_class.draw_button(words)
        st.toggle(words.label("present"), key="present", on_change=rerun)
    with st.container(key="prompt_messages"):
        model_offer.draw()
        _messages(words, present, bool(use.model))


def is_old() -> bool:
    """Whether the open view uses the prompt and the model otherwise than the bar says."""
    return st.session_state.get(SAID) != prompt_use.now()


def _find(words: prose.TextFile) -> None:
    """Draw the field that finds every place of the app, also in present mode."""
    text = {key: label for key, label in words.labels.items() if key.partition("_")[0] == "find"}
    if (chosen := palette(text, addresses.live(FINDER), "find")) and (opening := finder.opening(str(chosen))):
        reader.open_lesson(*opening)


def _take_prompt() -> None:
    """Callback: a new prompt first redraws the picture; for the rest, see `views`."""
    if reader.take_typed_prompt():
        rerun(PICTURE)
    rerun()


def _examples(words: prose.TextFile) -> None:
    saved = st.session_state.setdefault("saved_prompts", [])
    with st.popover(words.label("examples"), key="examples", on_change="rerun") as drawer:
        if not drawer.open:
            return
        st.caption(words.label("examples_title"))
        for i, example in enumerate(prompts.example_prompts()):
            st.button(_one_line(example), key=f"example_{i}", type="tertiary",
                      on_click=reader.set_prompt, args=(example,))
        st.caption(words.label("saved_title"))
        if not saved:
            st.caption(words.label("saved_none"))
        for i, prompt in enumerate(saved):
            st.button(_one_line(prompt), key=f"saved_{i}", type="tertiary", on_click=reader.set_prompt, args=(prompt,))
        st.button(words.label("save"), key="save_prompt", on_click=_save, disabled=reader.prompt() in saved)


def _model(words: prose.TextFile, present: run.Run, shown: str) -> None:
    """Draw the drawer of models. shown: the model that the view shows in place of the chosen one, "" for the chosen."""
    n, n_context = len(present.token_ids), run.room(present.model.config)
    key = "status_shown" if shown else "status_cut" if present.n_cut else "status"
    model = escaped(names.short(shown) or present.title)
    said = words.label(key, model=model, n=n, n_context=n_context, n_cut=present.n_cut)
    with st.popover(said, key="model_drawer", on_change="rerun") as drawer:
        if not drawer.open:
            return
        if shown:
            st.caption(words.label("status_shown_note", model=escaped(names.short(shown))))
        _picker(words)
        if st.button(prose.load("library").label("another"), key="another_model",
                     icon=":material/add:", type="tertiary"):
            reader.open_lesson(catalogue.MODELS, {})
        _moment(words)
        st.selectbox(words.label("device"), devices.available(), key="device", on_change=rerun,
                     format_func=lambda name: words.label(f"device_{name}"))
        st.caption(words.label("running", device=words.label(f"device_{present.device}")))
        st.caption(words.label("usage", n=n, n_context=n_context))


def _named(present: run.Run, shown: str) -> None:
    """Name the model of the view in present mode: in the row, since a note below would take the picture's room."""
    name = shown or present.model_name
    library = names.is_library_name(name)
    with st.container(key="prompt_model"):
        st.caption(model_notes.brief(cache.shared_model(name, devices.CPU)) if library
                   else f"**{escaped(names.short(shown) or present.title)}**")


def _picker(words: prose.TextFile) -> None:
    """Draw the box of models.

    Each model has a box with a key of its own: the browser keeps the last value of a box in a closed drawer, and would
    overwrite a model that was picked elsewhere.
    """
    choices, wanted = model_choice.choices(), model_choice.wanted()
    key = f"model_picked_{wanted}"
    st.selectbox(words.label("model"), choices, index=choices.index(wanted), key=key, format_func=model_choice.named,
                 on_change=lambda: _want(st.session_state[key]))


def _want(name: str) -> None:
    model_choice.want(name)
    rerun()


def _moment(words: prose.TextFile) -> None:
    """Draw the slider for time travel: each kept moment of a model's training is a model that every lesson runs."""
    base, step = cache.name_and_step(model_choice.shown())
    steps = [moment.step for moment in cache.moments(base)]
    if not steps:
        return
    st.session_state["moment"] = steps[-1] if step is None else step
    st.select_slider(words.label("moment"), steps, key="moment", help=words.label("moment_help"),
                     on_change=lambda: _travel(base, st.session_state["moment"], steps[-1]))


def _travel(base: str, step: int, last: int) -> None:
    st.session_state["model"] = base if step == last else f"{base}{cache.MOMENT}{step}"
    rerun()


def _share(words: prose.TextFile, present: run.Run) -> None:
    """Draw the link, and the file of a lesson that makes one. The link is made when the drawer opens: by then every
    widget of the page is in the address.
    """
    with st.popover(words.label("share"), key="share", on_change="rerun") as drawer:
        if not drawer.open:
            return
        shown = {} if st.session_state.get(address.COVERED) else {address.SHOWN: True}
        page, brief = (urllib.parse.urljoin(st.context.url or "", address.link(shown, brief=is_brief))
                       for is_brief in (False, True))
        st.caption(words.label("share_text"))
        origins = addresses.reachable(page)
        origin = origins[0] if len(origins) == 1 else st.selectbox(words.label("share_address"), origins,
                                                                    key="share_address")
        link = addresses.at(origin, page)
        st.code(link, language=None, wrap_lines=True)
        if not address.fits_in_link(reader.prompt()):
            st.caption(words.label("share_no_prompt"))
        with st.container(horizontal=True, gap="medium", key="share_ways"):
            with st.container(width=260, gap="small"):
                _code(words, addresses.at(origin, brief))
            with st.container(width=200, gap="small"):
                _file(words, present)


def _code(words: prose.TextFile, link: str) -> None:
    """Draw the link as a QR code, or why there is none."""
    if len(link) > QR_CHARACTERS:
        st.caption(words.label("share_no_qr"))
        return
    # an st.image has no alternative text
    st.markdown(f"![{words.label('share_qr')}](data:image/png;base64,"
                f"{base64.b64encode(qr_code(link)).decode()})", width=260)
    st.caption(words.label("share_qr"))


def _file(words: prose.TextFile, present: run.Run) -> None:
    """Draw the button that takes the open lesson's picture along as one file, or why this model's cannot be."""
    page = model_choice.page()
    if page != catalogue.TOUR and not any(entry.id == page and entry.takeaway for entry in catalogue.existing()):
        return
    takeaway = pkgutil.resolve_name(f"pages.{page}.takeaway")
    st.caption(words.label("share_file_text"))
    if refused := takeaway.refusal(present):
        st.caption(words.label("share_file_refused", model=escaped(present.title), refused=refused))
    else:
        st.download_button(words.label("share_file"), takeaway.file_of(present), on_click="ignore",
                           file_name=f"{page}-{present.model_name.replace(':', '-')}.html", mime="text/html",
                           key="share_file")


def _messages(words: prose.TextFile, present: run.Run, shows_another: bool) -> None:
    """Draw what the reader has to know of the model and the prompt. shows_another: the view shows another model than
    the chosen one, on which there is then no note.
    """
    if present.loaded.problem:
        st.warning(words.label("broken_model", problem=escaped(present.loaded.problem)))
    elif present.loaded.is_random:
        st.warning(words.label("random_model"))
    elif note := "" if shows_another else _note(present):
        st.caption(note)
    if ends_in_lone_space(present):
        _lone_space(words, present)
    if len(counts := tokens_of_signs(present)) == 2:
        _other_signs(words, present, *counts)
    if present.n_cut:
        kept = len(present.token_ids) - len(present.tokenizer.begin) - len(present.tokenizer.end)
        st.caption(words.label("usage_cut", n_all=present.n_cut + kept, kept=kept, n_cut=present.n_cut))
    if notices.notices():
        st.info("  \n".join(notices.notices()))


def _note(present: run.Run) -> str:
    """A note on the chosen model; present mode gives only a bundled model's name, in the row."""
    return "  \n".join(model_notes.of(present)) or ("" if reader.present() else model_note(present.model_name))


def ends_in_lone_space(present: run.Run) -> bool:
    """Whether the text ends in a space that is a token of its own. A word's token begins with its space, so after a
    lone space a model expects something that is hardly ever meant.
    """
    return (present.text.endswith(" ") and bool(present.own_ids)
            and not present.tokenizer.visible(present.own_ids[-1]).strip("·"))


def _lone_space(words: prose.TextFile, present: run.Run) -> None:
    with st.container(key="lone_space", horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(words.label("lone_space"), width="content")
        st.button(words.label("drop_space"), key="drop_space", on_click=reader.set_prompt,
                  args=(present.text.rstrip(" "),))


def tokens_of_signs(present: run.Run) -> tuple[int, ...]:
    """The number of tokens of the text, and that with a keyboard's apostrophes, quotes, dashes and spaces, if it is
    smaller, else (). Many models have hardly read other signs, and a screen shows no difference.
    """
    plain = signs.plain(present.text)
    if plain == present.text:
        return ()
    counts = tuple(len(present.tokenizer.encode(text)) for text in (present.text, plain))
    return counts if counts[1] < counts[0] else ()


def _other_signs(words: prose.TextFile, present: run.Run, n: int, fewer: int) -> None:
    names = ", ".join(words.label(f"sign_{kind}") for kind in signs.kinds(present.text))
    with st.container(key="other_signs", horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(words.label("other_signs", names=names, n=n, fewer=fewer), width="content")
        st.button(words.label("plain_signs"), key="plain_signs", on_click=reader.set_prompt,
                  args=(signs.plain(present.text),))


def model_note(name: str) -> str:
    """The note on a bundled model that is not the main one: its own, or its family's (the part of its name before the
    first hyphen).
    """
    notes, (base, step) = prose.load("models").labels, cache.name_and_step(name)
    note = (notes["moment"] if step is not None else notes["own"] if not cache.is_bundled(name)
            else notes.get(name) or notes.get(name.partition("-")[0], ""))
    return note.format(name=name, base=base, step=step)


def _save() -> None:
    st.session_state["saved_prompts"] = [*st.session_state["saved_prompts"], reader.prompt()]


def _one_line(prompt: str) -> str:
    """A prompt as a button shows it: one line, without Markdown."""
    line = prompt.replace("\n", " ⏎ ")
    line = line if len(line) <= 70 else line[:34] + " … " + line[-34:]
    return escaped(line)
