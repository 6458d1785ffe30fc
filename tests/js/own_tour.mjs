// The tour's messages without Python, by the real engine: tests/pages/tour/test_own.py compares them with Python's.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { Model } from "../../core/components/engine/model.js";
import { owned } from "../../core/components/engine/service.js";
import { Tokenizer } from "../../core/components/engine/tokenizer.js";
import { message } from "../../pages/tour/own/message.js";

const read = (folder, name) => readFileSync(join(folder, name));

/** Write the message of each case { name, model, settings } to <name>.message. */
export function writeAll(folder, cases) {
  const owns = new Map();
  const of = (model) => {
    if (!owns.has(model))
      owns.set(model, owned(new Model(new Uint8Array(read(folder, `${model}.model`))),
        new Tokenizer(JSON.parse(read(folder, `${model}.tokenizer`).toString())),
        JSON.parse(read(folder, `${model}.words`).toString())));
    return owns.get(model);
  };
  for (const { name, model, settings } of cases)
    writeFileSync(join(folder, `${name}.message`), message(of(model), settings));
  return cases.length;
}
