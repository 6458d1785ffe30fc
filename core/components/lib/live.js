// A hand that moves asks Python over HTTP, without a rerun: one question at a time, and the last one wins.
// answered(bytes) gets each answer; rested() is called when nothing more is to be asked, also where the answer failed.
export function liveAsker(answered, rested) {
  let next = null, busy = false;
  async function ask() {
    busy = true;
    while (next) {
      const { path, question } = next;
      next = null;
      try {
        const answer = await fetch(path, { method: "POST", body: JSON.stringify(question) });
        if (answer.ok) answered(new Uint8Array(await answer.arrayBuffer()));
      } catch { /* the server is away: what it knows is asked for again when the hand has let go */ }
    }
    busy = false;
    rested();
  }
  return { ask(path, question) { next = { path, question }; if (!busy) ask(); }, get busy() { return busy; } };
}
