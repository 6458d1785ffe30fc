// A row of links, and a menu with its links under headings; it opens over the page, and the arrow keys go through it.
import { button, make } from "../lib/dom.js";
import { isShortcut } from "../lib/keys.js";
import { followed, toTop } from "../lib/links.js";

const STEPS = { ArrowDown: 1, ArrowUp: -1 };

/** @typedef {{ id: string, name: string, href: string, here: boolean }} Link */
/** @typedef {{ name: string, here: boolean, groups: { name: string, links: Link[] }[] }} Menu */
/** @typedef {{ name: string, links: (Link | Menu)[] }} Message */

/** @param {import("../lib/view.js").Given<Message>} component */
export default function ({ data, parentElement, setTriggerValue }) {
  const written = JSON.stringify(data), row = parentElement.querySelector("nav") ?? make("nav", "", parentElement);
  if (row.dataset.written === written) return;
  row.dataset.written = written;
  row.ariaLabel = data.name;
  row.replaceChildren();
  const go = (page) => {
    toTop(row);
    setTriggerValue("go", page);
  };
  for (const each of data.links) "groups" in each ? addMenu(row, each, go) : addLink(row, each, go);
}

function addLink(parent, { id, name, href, here }, go) {
  const link = make("a", "link", parent, name);
  link.href = href;
  if (here) link.ariaCurrent = "page";
  followed(link, () => go(id));
  return link;
}

function addMenu(row, { name, here, groups }, go) {
  const opener = button(row, name, "", undefined, here ? "link opener here" : "link opener");
  const menu = make("div", "menu", row);
  Object.assign(menu, { id: "menu", popover: "auto", role: "group", ariaLabel: name });
  opener.popoverTargetElement = menu;
  opener.setAttribute("aria-controls", menu.id);
  const follow = (page) => {
    menu.hidePopover();
    go(page);
  };
  const links = groups.flatMap((group) => {
    const list = make("div", "group", menu);
    list.role = "group";
    list.ariaLabel = group.name;
    make("div", "heading", list, group.name).ariaHidden = "true";
    return group.links.map((each) => addLink(list, each, follow));
  });
  opened(menu, opener);
  keyed(menu, opener, links);
}

/** Keep the menu below its button, within the window, and mark whether it is open. */
function opened(menu, opener) {
  opener.ariaExpanded = "false";
  menu.onbeforetoggle = ({ newState }) => {
    const { left, bottom } = opener.getBoundingClientRect();
    const maxHeight = `${innerHeight - bottom - 12}px`;
    Object.assign(menu.style, { left: `${left}px`, top: `${bottom + 4}px`, maxHeight });
    opener.ariaExpanded = String(newState === "open");
  };
  menu.ontoggle = () => {
    const beyond = menu.getBoundingClientRect().right + 8 - innerWidth;
    if (beyond > 0) menu.style.left = `${Math.max(8, opener.getBoundingClientRect().left - beyond)}px`;
  };
  // leaving it by the Tab key closes it
  menu.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget && !menu.contains(relatedTarget)) menu.hidePopover();
  });
}

/** Let the arrow keys go through the links, from the open page on, and Escape go back to the button; keys pressed here
    do not reach the page behind. */
function keyed(menu, opener, links) {
  const root = menu.getRootNode(), isOpen = () => menu.matches(":popover-open");
  const pressed = (event) => {
    const { key } = event, closes = key === "Escape" && isOpen();
    if (!closes && !(key in STEPS) || isShortcut(event)) return;
    event.preventDefault();
    event.stopPropagation();
    if (closes) {
      menu.hidePopover();
      opener.focus();
      return;
    }
    const at = links.indexOf(root.activeElement), here = Math.max(0, links.findIndex((link) => link.ariaCurrent));
    if (!isOpen()) menu.showPopover();
    links[at < 0 ? here : (at + STEPS[key] + links.length) % links.length].focus();
  };
  opener.onkeydown = menu.onkeydown = pressed;
}
