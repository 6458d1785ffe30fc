// Three significant figures; a probability below 1 is never written as 1.
export function readable(value, digits = 3) {
  if (Number.isNaN(value)) return "–";
  if (value !== 0 && Math.abs(value) < 0.0005) return value.toExponential(1).replace("-", "−");
  let text = value.toPrecision(digits);
  for (let more = digits + 1; Math.abs(value) < 1 && Math.abs(Number(text)) >= 1 && more < 9; more++)
    text = value.toPrecision(more);
  if (text.includes("e")) text = Math.round(value).toString();
  return text.replace("-", "−");
}
