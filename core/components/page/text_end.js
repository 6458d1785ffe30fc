import { textWidth } from "../lib/text.js";
import { whenStyled } from "../lib/theme.js";

const CUT = "data-cut";             // attribute of a field whose beginning is out of sight

/** @param {{ data: import("./page.js").Message }} component */
export default function ({ data }) {
  let field = null, value = null, frame = 0;
  const toEnd = () => {
    if (!field?.isConnected || field === document.activeElement) return;
    const { font, paddingLeft } = getComputedStyle(field);
    const width = parseFloat(paddingLeft) + textWidth(value.split("\n").at(-1), font);
    field.scrollTo(Math.ceil(width) - field.clientWidth, field.scrollHeight);
    field.toggleAttribute(CUT, field.scrollLeft > 0);
  };
  const room = new ResizeObserver(toEnd);
  const look = () => {
    frame = 0;
    /** @type {HTMLTextAreaElement} */
    const now = document.querySelector(data.field);
    if (now === field && now?.value === value) return;
    if (now !== field) {
      room.disconnect();
      if (now) room.observe(now);
    }
    [field, value] = [now, now?.value];
    if (field) whenStyled(field, toEnd);        // again once the fonts are there
  };
  const soon = () => { frame ||= requestAnimationFrame(look); };
  const left = ({ target }) => { if (target === field) requestAnimationFrame(toEnd); };
  const watch = new MutationObserver(soon);
  watch.observe(document.body, { childList: true, characterData: true, subtree: true });
  document.addEventListener("focusout", left);
  look();
  return () => {
    watch.disconnect();
    room.disconnect();
    cancelAnimationFrame(frame);
    document.removeEventListener("focusout", left);
  };
}
