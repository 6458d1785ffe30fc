// A hand that moves asks Python over HTTP, without a rerun: one question at a time, and the last one wins.
// onAnswer(bytes) gets each answer; onRest() is called when nothing is left to ask, even after a failed answer.
export function liveAsker(onAnswer, onRest) {
  let next = null, busy = false;
  async function ask() {
    busy = true;
    while (next) {
      const { path, question } = next;
      next = null;
      try {
        const answer = await fetch(path, { method: "POST", body: JSON.stringify(question) });
        if (answer.ok) onAnswer(new Uint8Array(await answer.arrayBuffer()));
      } catch { /* the server is away: its state is asked for again when the hand has let go */ }
    }
    busy = false;
    onRest();
  }
  return { ask(path, question) { next = { path, question }; if (!busy) ask(); }, get busy() { return busy; } };
}
