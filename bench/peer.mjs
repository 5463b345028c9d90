// The peer's side of `cargo xtask bench --peers`: its own ComposableToolBuilder, from the package as published.
// usage: node peer.mjs FOLDER_WITH_NODE_MODULES CASES_JSON; then one line `{"case": ID, "ms": N}` a measurement on stdin,
// answered by one line `{"ns": CPU per step}` on stdout. CPU is user and system time of this whole process.

import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const [folder, casesFile] = process.argv.slice(2);
const built = join(resolve(folder), 'node_modules/@framers/agentos/dist/cognition/emergent/ComposableToolBuilder.js');
const { ComposableToolBuilder } = await import(pathToFileURL(built));
const { cases } = JSON.parse(readFileSync(casesFile, 'utf8'));

const tools = new Map([
  ['echo', async (args) => ({ success: true, output: args })],
  ['fail', async () => ({ success: false, error: 'it is broken' })],
]);
const builder = new ComposableToolBuilder((name, args, context) => tools.get(name)(args, context));

function expand(value, number) {
  if (typeof value === 'string') return number === undefined ? value : value.replaceAll('%', String(number));
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map((item) => expand(item, number));
  if ('@text' in value) return 'lorem ipsum '.repeat(value['@text'] / 12 + 1).slice(0, value['@text']);
  if ('@repeat' in value) {
    if ('item' in value) return Array.from({ length: value['@repeat'] }, (_, index) => expand(value.item, index));
    const keys = Array.from({ length: value['@repeat'] }, (_, index) => index);
    return Object.fromEntries(keys.map((index) => [expand(value.key, index), expand(value.value, index)]));
  }
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, expand(member, number)]));
}

function build(wanted) {
  const one = cases.find((candidate) => candidate.id === wanted);
  if (!one) throw new Error(`no case is called ${wanted}`);
  const steps = Array.from({ length: one.steps }, (_, index) => ({
    name: `s${index}`,
    tool: one.failing && index === one.steps - 1 ? 'fail' : 'echo',
    inputMapping: expand(index === 0 ? one.first : one.rest),
  }));
  const tool = builder.build('pipeline', 'A measured pipeline', { type: 'object' }, { mode: 'compose', steps });
  return { tool, steps: one.steps, input: expand(one.input), failing: Boolean(one.failing) };
}

async function loop({ tool, input, failing }, count) {
  const context = { sessionData: {} };
  for (let index = 0; index < count; index += 1) {
    const result = await tool.execute(input, context);
    if (result.success === failing) throw new Error(`unexpected result ${JSON.stringify(result).slice(0, 200)}`);
  }
}

function cpuNanoseconds() {
  const { user, system } = process.cpuUsage();
  return (user + system) * 1000;
}

const prepared = new Map();
async function measure({ case: id, ms }) {
  const isNew = !prepared.has(id);
  if (isNew) prepared.set(id, { ...build(id), count: 1 });
  const pipeline = prepared.get(id);
  // The first time, twice as long unmeasured, so that what is measured is compiled code.
  let warm = isNew ? ms * 2e6 : 0;
  for (;;) {
    const before = cpuNanoseconds();
    await loop(pipeline, pipeline.count);
    const spent = cpuNanoseconds() - before;
    if (spent >= ms * 1e6 && warm <= 0) return spent / pipeline.count / pipeline.steps;
    warm -= spent;
    if (spent < ms * 1e6) pipeline.count = Math.ceil(pipeline.count * Math.min(10, (ms * 1.2e6) / Math.max(spent, 1e5)));
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify({ ns: await measure(JSON.parse(line)) })}\n`);
}
