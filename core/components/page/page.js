// Helpers on every page that draw nothing: one component, since each costs the server a millisecond in every run.
import readChartsByKeys from "./chart_keys.js";
import copyOverHttp from "./copied.js";
import oneEntryADeed from "./history.js";
import keepFocus from "./kept_focus.js";
import cutWhatIsPasted from "./pasted.js";
import runAfterReconnection from "./reconnect.js";
import showTheEnd from "./text_end.js";

/** hint: on the keys of charts; field and most: the selector and the most characters of a field for pasting.
 * @typedef {{ hint: string, field: string, most: number }} Message */

/** @param {import("../lib/view.js").Given<Message>} component */
export default function ({ data, parentElement, setTriggerValue }) {
  parentElement.end?.();          // Streamlit calls this again when the theme changes, but ends only the last call
  copyOverHttp();
  // A browser's translator replaces texts by nodes of its own. React, with which Streamlit draws, then fails at the
  // next change, or goes on writing into nodes that are no longer shown: a number would stay as it was.
  document.documentElement.translate = false;
  oneEntryADeed();
  const ends = [readChartsByKeys({ data: data.hint }), keepFocus(), cutWhatIsPasted({ data, setTriggerValue }),
    runAfterReconnection({ setTriggerValue }), showTheEnd({ data })];
  parentElement.end = () => { for (const end of ends) end?.(); };
  return parentElement.end;
}
