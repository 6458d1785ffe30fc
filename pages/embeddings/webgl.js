// Tells Python where the browser has no WebGL, as on remote desktops and on many a school's machine. Draws nothing.
export default function ({ data: { isKnown }, setTriggerValue }) {
  if (!isKnown && !document.createElement("canvas").getContext("webgl")) setTriggerValue("missing", true);
}
