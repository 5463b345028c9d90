// The TypeScript client 2.4.0, which speaks both generations. usage: CLIENTS_FOLDER=… CLIENTS_ERA=legacy|auto node typescript-2.mjs
// http URL | stdio PROGRAM…

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { filled, run, where } from './checks.mjs';

const folder = process.env.CLIENTS_FOLDER;
const era = process.env.CLIENTS_ERA ?? 'auto';
const sdk = (file) => import(pathToFileURL(join(folder, 'node_modules/@modelcontextprotocol/client/dist', file)));
const { Client, StreamableHTTPClientTransport } = await sdk('index.mjs');
const { StdioClientTransport } = await sdk('stdio.mjs');

const { url, command, args } = where();
const transport = url
  ? new StreamableHTTPClientTransport(url)
  : new StdioClientTransport({ command, args, env: process.env, stderr: 'inherit' });
const sdkClient = new Client(
  { name: 'typescript-2', version: '2.4.0' },
  { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: era } },
);
const client = {
  async list() {
    return (await sdkClient.listTools()).tools;
  },
  call(name, input, { progress, signal }) {
    const options = { signal, timeout: 60_000, resetTimeoutOnProgress: true };
    if (progress) options.onprogress = progress;
    return sdkClient.callTool({ name, arguments: input }, options);
  },
  async close() {
    await sdkClient.close();
  },
};
sdkClient.setRequestHandler('elicitation/create', async ({ params }) => {
  const yes = client.answer(`${params.message} ${JSON.stringify(params.requestedSchema)}`);
  return yes ? { action: 'accept', content: filled(params.requestedSchema, true) } : { action: 'decline' };
});
await sdkClient.connect(transport);
const wanted = era === 'auto' ? '2026-07-28' : '2025-11-25';
const spoken = sdkClient.getNegotiatedProtocolVersion?.();
console.log(spoken === wanted ? `ok speaks ${wanted}` : `not ok speaks ${wanted}: it speaks ${spoken}`);
await run(client, `ts2-${url ? 'http' : 'stdio'}-${era}`);
