// This browser's memory of predictions, which nobody else has: which questions were answered and how, and whether the
// reader wants to be asked. A browser that keeps nothing asks again.

const ANSWERS = "transformer-predictions", ASKS = "transformer-ask-first";

function stored(name, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(name)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

function store(name, value) {
  try {
    localStorage.setItem(name, JSON.stringify(value));
  } catch { /* a browser that allows no storage */ }
}

/** All answers: "<lesson>/<name>" -> {looked} or {question, guess, truth, right, sure, at}. */
export const answers = () => {
  const all = stored(ANSWERS, {});
  return typeof all === "object" && !Array.isArray(all) ? all : {};
};

export const answeredBefore = (id) => id in answers();

/** Keep an answer; a look at the picture does not replace a guess. */
export function remember(id, answer) {
  const all = answers();
  if (answer.looked && all[id]) return;
  store(ANSWERS, { ...all, [id]: answer });
}

export const keepAll = (all) => store(ANSWERS, all);

export const forget = () => keepAll({});

/** Whether the reader wants to be asked first. */
export const asks = () => stored(ASKS, true) !== false;

export function setAsks(wanted) {
  store(ASKS, wanted);
}
