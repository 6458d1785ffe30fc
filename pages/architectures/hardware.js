// The hardware: one of three pictures on one root. Each is a class of its own, which builds its nodes on the root,
// takes over what Python says (`receive`) and draws (`draw`) at most once a frame.
import { Instrument } from "../../core/components/lib/instrument.js";
import { emOf } from "../../core/components/lib/text.js";
import { mounted } from "../../core/components/lib/view.js";
import { ArrayPicture } from "./hardware_array.js";
import { PassPicture } from "./hardware_pass.js";
import { RoofPicture } from "./hardware_roofline.js";

const PICTURES = { pass: PassPicture, roofline: RoofPicture, array: ArrayPicture };

/** @typedef {import("./hardware_pass.js").Message & import("./hardware_roofline.js").Message
 *   & import("./hardware_array.js").Message} Taken  by one of the three */
/** @typedef {Taken & { picture: keyof typeof PICTURES, present: boolean, settings: Record<string, any> }} Message */

/** @extends {Instrument<Pick<Message, "settings">>} */
class Hardware extends Instrument {
  /** @param {Message} header */
  receive(header) {
    if (this.kind !== header.picture) {
      this.kind = header.picture;
      this.root.replaceChildren();
      this.picture = new PICTURES[header.picture](this.root, this);
    }
    super.receive(header);
    this.present = Boolean(header.present);
    this.picture.receive(header);
  }

  /** Take over what the hand has set; draw, and tell Python once it rests. */
  change(settings) {
    Object.assign(this.settings, settings);
    this.schedule();
    this.commit();
  }

  draw() {
    this.em = emOf(this.root);
    this.picture.draw();
  }
}

export default mounted(Hardware);
