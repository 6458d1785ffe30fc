// Tells Python where the browser has no WebGL, as on remote desktops and on many a school's machine. Draws nothing.
/** @param {import("../../core/components/lib/view.js").Given<{ isKnown: boolean }>} component */
export default function ({ data: { isKnown }, setTriggerValue }) {
  if (!isKnown && !document.createElement("canvas").getContext("webgl")) setTriggerValue("missing", true);
}
