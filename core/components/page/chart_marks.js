// The places of a chart's marks on the screen, and the hover text of each. Neither Vega nor Plotly documents them, so
// only this file reads their private data: Vega's marks as data of its elements, Plotly's points as `_fullData`, its
// axes and camera as `_fullLayout`. tests/browser/test_embeddings_page.py walks both kinds by keys and fails if a
// version keeps them elsewhere.
import { VEGA } from "./chart_keys.js";

// The marks in sight that have a hover text: {x, y, text, press}, the middle in pixels of the window. If several layers
// have the same text, the first one counts.
export function marksOf(chart) {
  const { left, right, top, bottom } = chart.getBoundingClientRect();
  return (chart.matches(VEGA) ? vegaMarks(chart) : plotlyMarks(chart))
    .filter(({ x, y }) => x > left && x < right && y > top && y < bottom);
}

function vegaMarks(chart) {
  const marks = [], groups = new Map();
  for (const group of chart.querySelectorAll("svg.marks g.role-mark:not(.mark-line, .mark-area)")) {
    for (const element of group.children) {
      const text = words(element.__data__?.tooltip);
      if (!text || (groups.get(text) ?? group) !== group) continue;
      groups.set(text, group);
      const { left, top, width, height } = element.getBoundingClientRect(), x = left + width / 2, y = top + height / 2;
      const press = () => element.dispatchEvent(new MouseEvent("click",
        { clientX: x, clientY: y, bubbles: true, cancelable: true, view: window }));
      const point = !group.classList.contains("mark-rect");
      const tone = `${element.getAttribute("fill")} ${element.getAttribute("stroke")}`;
      marks.push({ x, y, text, press, point, tone });
    }
  }
  return marks;
}

function words(tooltip) {
  if (tooltip === null || typeof tooltip !== "object") return String(tooltip ?? "");
  return Object.entries(tooltip).map(([name, value]) => `${name.trim()} ${value}`.trim()).join(", ");
}

function plotlyMarks(chart) {
  const box = chart.getBoundingClientRect(), { xaxis, yaxis, scene } = chart._fullLayout;
  const begin = (scene ?? chart._fullLayout).annotations[0];
  const place = scene ? (x, y, z) => inSpace(scene._scene, x, y, z)
    : (x, y) => [xaxis._offset + xaxis.c2p(x), yaxis._offset + yaxis.c2p(y)];
  return chart._fullData.flatMap((trace, curveNumber) => Array.from(trace.x, (x, pointNumber) => {
    const [across, down] = place(x, trace.y[pointNumber], trace.z?.[pointNumber]);
    const press = () => chart.emit("plotly_selected", { points: [{ curveNumber, pointNumber, pointIndex: pointNumber, x,
      y: trace.y[pointNumber], customdata: trace.customdata[pointNumber], data: trace._input }] });
    return { x: box.left + across, y: box.top + down, text: plain(trace.text[pointNumber]), press, crowded: true,
      begins: begin?.x === x && begin?.y === trace.y[pointNumber] };
  }));
}

// The place of a point of a 3-D scene under Plotly's camera, in pixels of the scene.
function inSpace({ dataScale, glplot: { cameraParams, canvas } }, ...point) {
  let p = [...point.map((value, axis) => value * dataScale[axis]), 1];
  for (const matrix of [cameraParams.model, cameraParams.view, cameraParams.projection])
    p = [0, 1, 2, 3].map((row) => p.reduce((sum, value, column) => sum + matrix[4 * column + row] * value, 0));
  return [(0.5 + p[0] / p[3] / 2) * canvas.clientWidth, (0.5 - p[1] / p[3] / 2) * canvas.clientHeight];
}

// Plotly reads the texts of points as HTML.
function plain(text) {
  return text.replaceAll("<br>", ", ").replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}
