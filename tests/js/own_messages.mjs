// Messages without Python, by the real engine: the tests of each page's own file compare them with Python's.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { Model } from "../../core/components/engine/model.js";
import { owned } from "../../core/components/engine/service.js";
import { Tokenizer } from "../../core/components/engine/tokenizer.js";

/** Write the message that a page makes of each case { name, model, settings } to <name>.message. */
export async function writeAll(folder, page, cases) {
  const { message } = await import(`../../pages/${page}/own/message.js`), owns = new Map();
  const read = (name) => readFileSync(join(folder, name)), parsed = (name) => JSON.parse(read(name).toString());
  const of = (model) => {
    if (!owns.has(model))
      owns.set(model, owned(new Model(new Uint8Array(read(`${model}.model`))),
        new Tokenizer(parsed(`${model}.tokenizer`)), parsed(`${model}.words`)));
    return owns.get(model);
  };
  for (const { name, model, settings } of cases)
    writeFileSync(join(folder, `${name}.message`), message(of(model), settings));
  return cases.length;
}
