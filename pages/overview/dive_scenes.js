// Every depth inside the picture, with the function that draws it.
import { blockScene, headsScene } from "./dive_block.js";
import { embeddingScene, endScene, streamScene } from "./dive_ends.js";
import { headScene } from "./dive_head.js";
import { lookScene } from "./dive_look.js";
import { neuronScene, neuronsScene } from "./dive_neurons.js";
import { logitScene, numberScene, productScene } from "./dive_product.js";

export const SCENES = { block: blockScene, heads: headsScene, head: headScene, look: lookScene, product: productScene,
  number: numberScene, neurons: neuronsScene, neuron: neuronScene, embedding: embeddingScene, stream: streamScene,
  end: endScene, logit: logitScene };
