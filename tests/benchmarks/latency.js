// Installed before the page loads: from the press of an arrow key, or of Enter, to the frames that show the first and
// the last change of the picture.
(() => {
  const state = (window.__latency = { start: null, first: null, last: null, picture: "body", canvas: false, box: null,
    awaited: false });

  // If the picture is a canvas, only what is drawn counts: Streamlit changes attributes around it before.
  function changed(element, drawn) {
    if (state.start === null || (state.canvas && !drawn) || state.awaited || !inPicture(element)) return;
    // one frame shows all that changes before it: a picture of a thousand strokes is not to wait for a
    // thousand callbacks
    state.awaited = true;
    requestAnimationFrame(() => {
      state.awaited = false;
      const channel = new MessageChannel(); // answers after the frame has been painted
      channel.port1.onmessage = () => { state.last = performance.now(); state.first ??= state.last; };
      channel.port2.postMessage(0);
    });
  }

  // Asked for every change on the page, so it must cost nothing that the page would be blamed for.
  function inPicture(node) {
    state.box = state.box?.isConnected ? state.box : document.querySelector(state.picture);
    for (let at = node; at; at = at.getRootNode().host) if (state.box?.contains(at)) return true;
    return false;
  }

  const watch = (root) => new MutationObserver((list) => list.forEach((m) => changed(m.target, false)))
    .observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
  watch(document);
  const attach = Element.prototype.attachShadow;
  Element.prototype.attachShadow = function (options) {
    const root = attach.call(this, options);
    watch(root);
    return root;
  };

  for (const name of ["clearRect", "fillRect", "drawImage", "putImageData", "fill", "stroke"]) {
    const draw = CanvasRenderingContext2D.prototype[name];
    CanvasRenderingContext2D.prototype[name] = function (...args) {
      changed(this.canvas, true);
      return draw.apply(this, args);
    };
  }

  addEventListener("keydown", (e) => { if ((e.key.startsWith("Arrow") || e.key === "Enter") && state.start === null)
    state.start = e.timeStamp; }, true);
  state.arm = (picture, canvas) =>
    Object.assign(state, { start: null, first: null, last: null, picture, canvas, box: null });
})();
