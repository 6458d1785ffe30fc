// Charts that the keys can read. What reads them is loaded with the first chart.
export const VEGA = ".vega-embed", CHARTS = `${VEGA}, .js-plotly-plot`;
const NEW = `:not(.chart-keys) > :is(${CHARTS})`;
const SOON = 60;        // ms after a change of the page

export default function ({ data: hint }) {
  const prepare = async () => {
    if (!document.querySelector(NEW)) return;
    // the page was left, or the server is away: the next change asks again
    const walk = await import("./chart_walk.js").catch(() => null);
    if (walk) for (const chart of document.querySelectorAll(NEW)) walk.readable(chart.parentElement, hint);
  };
  let due = null;         // a page that is being drawn changes hundreds of times
  const watch = new MutationObserver(() => { due ??= setTimeout(() => { due = null; prepare(); }, SOON); });
  watch.observe(document.body, { subtree: true, childList: true });
  prepare();
  return () => {
    clearTimeout(due);
    watch.disconnect();
  };
}
