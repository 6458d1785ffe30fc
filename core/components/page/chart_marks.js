// Where the marks of a chart stand on the screen, and what hover says of each. Neither Vega nor Plotly documents this,
// so this file alone reads what they keep for themselves: Vega's marks as data of its elements, Plotly's points as
// `_fullData`, its axes and camera as `_fullLayout`. tests/browser/test_embeddings_page.py walks both kinds by keys and
// fails where a version keeps them elsewhere.
const VEGA = ".vega-embed";
export const CHARTS = `${VEGA}, .js-plotly-plot`;

// The marks in sight that hover says something of: {x, y, said, press}, the middle in pixels of the window. Of layers
// that say the same of the same the first counts.
export function marksOf(chart) {
  const { left, right, top, bottom } = chart.getBoundingClientRect();
  return (chart.matches(VEGA) ? vegaMarks(chart) : plotlyMarks(chart))
    .filter(({ x, y }) => x > left && x < right && y > top && y < bottom);
}

function vegaMarks(chart) {
  const found = [], groups = new Map();
  for (const group of chart.querySelectorAll("svg.marks g.role-mark:not(.mark-line, .mark-area)")) {
    for (const element of group.children) {
      const said = words(element.__data__?.tooltip);
      if (!said || (groups.get(said) ?? group) !== group) continue;
      groups.set(said, group);
      const { left, top, width, height } = element.getBoundingClientRect(), x = left + width / 2, y = top + height / 2;
      const press = () => element.dispatchEvent(new MouseEvent("click",
        { clientX: x, clientY: y, bubbles: true, cancelable: true, view: window }));
      const point = !group.classList.contains("mark-rect");
      const tone = `${element.getAttribute("fill")} ${element.getAttribute("stroke")}`;
      found.push({ x, y, said, press, point, tone });
    }
  }
  return found;
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
    return { x: box.left + across, y: box.top + down, said: plain(trace.text[pointNumber]), press, crowded: true,
      begins: begin?.x === x && begin?.y === trace.y[pointNumber] };
  }));
}

// Where Plotly's camera puts a point of a 3-D scene, in pixels of the scene.
function inSpace({ dataScale, glplot: { cameraParams, canvas } }, ...point) {
  let at = [...point.map((value, axis) => value * dataScale[axis]), 1];
  for (const matrix of [cameraParams.model, cameraParams.view, cameraParams.projection])
    at = [0, 1, 2, 3].map((row) => at.reduce((sum, value, column) => sum + matrix[4 * column + row] * value, 0));
  return [(0.5 + at[0] / at[3] / 2) * canvas.clientWidth, (0.5 - at[1] / at[3] / 2) * canvas.clientHeight];
}

// Plotly reads the texts of points as HTML.
function plain(text) {
  return text.replaceAll("<br>", ", ").replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}
