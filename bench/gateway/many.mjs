// A server that has many tools and does nothing else, without any library, for the time from start to the first list.
// usage: node many.mjs COUNT

import { createInterface } from 'node:readline';

const count = Number(process.argv[2]);
const text = { type: 'string', description: 'One of the words that this tool takes' };
const tools = Array.from({ length: count }, (_, index) => ({
  name: `tool_${index}`,
  description: `Takes some words and says what it makes of them, the ${index + 1}th of its kind`,
  inputSchema: {
    type: 'object',
    properties: { first: text, second: text, third: { type: 'array', items: text }, limit: { type: 'integer', minimum: 1 } },
    required: ['first'],
  },
  outputSchema: { type: 'object', properties: { words: { type: 'array', items: text }, first: text }, required: ['words', 'first'] },
  annotations: { readOnlyHint: true, idempotentHint: true },
}));
const results = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'many', version: '1' } }),
  'tools/list': () => ({ tools }),
  'tools/call': ({ arguments: { first } }) => ({ content: [], structuredContent: { words: [first], first } }),
  ping: () => ({}),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = results[method] ? { result: results[method](params) } : { error: { code: -32601, message: `no ${method}` } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...answer })}\n`);
}
