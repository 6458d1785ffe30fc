// How to join a class, as large as the screen: code, address and QR; how phones follow the wall; the teacher's own
// second device; and simulated phones, with which a teacher tries the class alone.
import { button, fill, make, setText } from "../lib/dom.js";

const SHOWN_FOR = 10;           // seconds: anyone who scans the second device's code leads the class
const FOLLOWS = ["off", "on", "freeze"];

/** Draw it; return {hear(shown)}, to be called with the class's state. */
export function drawJoin(place, desk) {
  const { text, data } = desk, way = make("section", "way", place);
  const qr = make("img", "qr", way), side = make("div", "side", way);
  make("p", "step", side, text.step_open);
  const address = make("p", "address", side);
  make("p", "step", side, text.step_code);
  make("p", "code", side, data.code);
  const there = make("p", "there", side);
  make("p", "hint", side, data.only_here ? text.only_here : text.network);
  const show = ({ short, qr: picture }) => {
    setText(address, short);
    Object.assign(qr, { src: picture, alt: fill(text.qr, { address: short }) });
  };
  let [chosen] = data.addresses;
  const back = () => show(chosen);
  back();
  if (data.addresses.length > 1) offerAddresses(side, data.addresses, text, (one) => { chosen = one; back(); });
  const ways = make("section", "ways", place);
  offerFollow(ways, desk);
  offerLead(ways, desk, (picture) => Object.assign(qr, { src: picture, alt: text.lead_scan }), back);
  const rehearse = button(ways, "", "", () => desk.link.act("rehearse", { on: !desk.shown?.rehearses }), "quiet");
  const sweep = button(ways, text.sweep, "", () => desk.link.act("sweep"), "quiet");
  return { hear: (shown) => {
    const who = shown?.full ? text.there_full : shown?.rehearses ? text.there_rehearsal : text.there;
    setText(there, fill(who, { n: shown?.there ?? 0 }));
    sweep.hidden = !shown?.full;
    setText(rehearse, shown?.rehearses ? text.rehearse_end : text.rehearse);
  } };
}

function offerAddresses(side, addresses, text, choose) {
  const label = make("label", "which", side, text.which), list = make("select", "", label);
  addresses.forEach(({ short }, i) => { make("option", "", list, short).value = i; });
  list.onchange = () => choose(addresses[list.value]);
}

/** Offer how phones follow the wall: not at all, its picture as it changes, or the picture of this moment. */
function offerFollow(ways, desk) {
  const { text } = desk, group = make("fieldset", "follows", ways);
  make("legend", "", group, text.follow);
  for (const name of FOLLOWS) {
    const label = make("label", "tick", group), input = make("input", "", label);
    Object.assign(input, { type: "radio", name: "follow", checked: name === desk.follows });
    input.onchange = () => desk.letFollow(name);
    label.append(text[`follow_${name}`]);
  }
}

/** Offer the teacher's second device: for a moment its QR code replaces the class's. */
function offerLead(ways, desk, show, back) {
  const { text, data } = desk, open = button(ways, text.lead_show, "", () => {
    let left = SHOWN_FOR;
    show(data.lead_qr);
    const say = () => setText(open, left > 0 ? `${text.lead_scan} ${left}` : text.lead_show);
    say();
    const ticking = setInterval(() => {
      left -= 1;
      say();
      if (left > 0 && open.isConnected) return;
      clearInterval(ticking);
      open.disabled = false;
      back();
    }, 1000);
    open.disabled = true;
  }, "quiet");
  const link = make("a", "", ways, text.second_device);
  Object.assign(link, { href: data.lead, target: "_blank" });
}
