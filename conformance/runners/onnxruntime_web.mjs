import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import * as ort from "onnxruntime-web";
import { readNpy, writeNpy } from "./npy.mjs";

/*
 * A runner of tconv for onnxruntime-web, the WebAssembly build of ONNX Runtime, in node.
 *
 *   npm --prefix conformance/runners ci
 *   tconv run --backend 'exec:node conformance/runners/onnxruntime_web.mjs'
 *
 * An argument is the dialect to speak, by default onnx/ConvTranspose-22.
 */

const DIALECT = process.argv[2] ?? "onnx/ConvTranspose-22";
const VERSION = JSON.parse(readFileSync(new URL("../package.json", import.meta.resolve("onnxruntime-web")))).version;
const TYPES = { "<f4": "float32", "<f8": "float64", "<f2": "float16", "<i8": "int64" };
const LEVELS = ["disabled", "basic", "extended", "layout", "all"];
const NOT_IMPLEMENTED = /ERROR_CODE: 9,/;

/** The options, which `--option` may choose: https://onnxruntime.ai/docs/api/js/ has their meaning. */
const options = { graphOptimizationLevel: "all", numThreads: "1" };

/**
 * Take options, and return the hello's confirmation of them, or that they are refused.
 *
 * @param {Record<string, string>} given
 */
function confirmed(given) {
  for (const [name, value] of Object.entries(given)) {
    if (!(name in options)) return { refused: `an option must be one of ${Object.keys(options).join(", ")}` };
    if (name === "graphOptimizationLevel" ? !LEVELS.includes(value) : !/^[1-9]\d*$/.test(value))
      return { refused: `${name} must be ${name === "numThreads" ? "an integer above 0" : `one of ${LEVELS.join(", ")}`}` };
  }
  Object.assign(options, given);
  return { options: given };
}

/** @param {{id: string, model: string, inputs: string[], output: string}} run */
async function answer({ id, model, inputs, output }) {
  const arrays = inputs.map(readNpy);
  if (arrays.some(({ descr }) => !(descr in TYPES)))
    return { id, unsupported: "onnxruntime-web has no tensor of bfloat16: an input cannot be fed" };
  try {
    const session = await ort.InferenceSession.create(readFileSync(model), {
      executionProviders: ["wasm"],
      graphOptimizationLevel: options.graphOptimizationLevel,
      logSeverityLevel: 4,
    });
    const tensors = arrays.map(({ descr, shape, data }) => new ort.Tensor(TYPES[descr], data, shape));
    const feeds = Object.fromEntries(session.inputNames.map((name, index) => [name, tensors[index]]));
    const y = (await session.run(feeds))[session.outputNames[0]];
    const descr = Object.keys(TYPES).find((key) => TYPES[key] === y.type);
    writeNpy(output, descr, y.dims, y.data);
    await session.release();
    return { id, ok: true };
  } catch (error) {
    // A trap leaves the module in a state in which nothing that it answers is to be believed.
    if (error instanceof WebAssembly.RuntimeError || /Aborted|unreachable/.test(String(error))) throw error;
    const message = String(error.message ?? error);
    return NOT_IMPLEMENTED.test(message) ? { id, unsupported: message } : { id, refused: message };
  }
}

// What the runtime prints must not be taken for replies.
console.log = console.info = console.warn = console.error;
ort.env.logLevel = "fatal";
for await (const line of createInterface({ input: process.stdin })) {
  const { hello, run } = JSON.parse(line);
  const reply = hello
    ? { name: "onnxruntime-web", version: VERSION, dialect: DIALECT, ...(hello.options && confirmed(hello.options)) }
    : await answer(run);
  if (hello) ort.env.wasm.numThreads = Number(options.numThreads);
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}
process.exit(0);
