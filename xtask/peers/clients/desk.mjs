// The server behind `toolwright serve` while clients are tried: an MCP server of the older generation over stdio, made with
// the TypeScript SDK. It writes what happens to it into a file, one line an event, so that a test sees what really happened.
// usage: node desk.mjs FOLDER_WITH_NODE_MODULES LOG

import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, log] = process.argv.slice(2);
const sdk = (file) => import(pathToFileURL(join(folder, 'node_modules/@modelcontextprotocol/sdk/dist/esm', file)));
const { Server } = await sdk('server/index.js');
const { StdioServerTransport } = await sdk('server/stdio.js');
const { CallToolRequestSchema, ListToolsRequestSchema } = await sdk('types.js');

const tell = (...words) => appendFileSync(log, `${words.join(' ')}\n`);
const object = (properties) => ({ type: 'object', properties, required: Object.keys(properties) });
const tools = [
  {
    name: 'look',
    description: 'Looks a subject up',
    inputSchema: object({ subject: { type: 'string' } }),
    outputSchema: object({ subject: { type: 'string' }, letters: { type: 'integer' } }),
    annotations: { readOnlyHint: true },
  },
  {
    name: 'note',
    description: 'Writes a note, each time anew',
    inputSchema: object({ text: { type: 'string' } }),
    outputSchema: object({ kept: { type: 'string' } }),
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false },
  },
  {
    name: 'wait',
    description: 'Waits so many seconds, and says so meanwhile',
    inputSchema: object({ seconds: { type: 'number' }, subject: { type: 'string' } }),
    outputSchema: object({ waited: { type: 'number' } }),
    annotations: { readOnlyHint: true },
  },
];

const pause = (ms, signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => (clearTimeout(timer), reject(new Error('cancelled'))), { once: true });
  });

const bodies = {
  async look({ subject }, progress, signal) {
    await progress(1, 2);
    await pause(20, signal);
    await progress(2, 2);
    return { subject, letters: subject.length };
  },
  async note({ text }) {
    return { kept: text };
  },
  async wait({ seconds }, progress, signal) {
    const ticks = Math.ceil(seconds * 10);
    for (let tick = 1; tick <= ticks; tick += 1) {
      await pause(100, signal);
      await progress(tick, ticks);
    }
    return { waited: seconds };
  },
};

const server = new Server({ name: 'desk', version: '1.0.0' }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools }));
server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal, sendNotification }) => {
  const { name, arguments: input = {}, _meta } = params;
  const what = input.subject ?? input.text ?? '';
  const token = _meta?.progressToken;
  const progress = async (at, total) => {
    if (token === undefined) return;
    await sendNotification({ method: 'notifications/progress', params: { progressToken: token, progress: at, total } });
  };
  tell('called', name, what);
  try {
    const output = await bodies[name](input, progress, signal);
    tell('done', name, what);
    return { content: [{ type: 'text', text: JSON.stringify(output) }], structuredContent: output };
  } catch (error) {
    tell(signal.aborted ? 'cancelled' : 'failed', name, what);
    throw error;
  }
});
await server.connect(new StdioServerTransport());
tell('started', process.pid);
