// The TypeScript SDK 1.32.2, which speaks up to 2025-11-25. usage: CLIENTS_FOLDER=… node typescript-1.mjs http URL | stdio PROGRAM…

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { filled, run, where } from './checks.mjs';

const folder = process.env.CLIENTS_FOLDER;
const sdk = (file) => import(pathToFileURL(join(folder, 'node_modules/@modelcontextprotocol/sdk/dist/esm', file)));
const { Client } = await sdk('client/index.js');
const { StdioClientTransport } = await sdk('client/stdio.js');
const { StreamableHTTPClientTransport } = await sdk('client/streamableHttp.js');
const { ElicitRequestSchema } = await sdk('types.js');

const { url, command, args } = where();
const transport = url
  ? new StreamableHTTPClientTransport(url)
  : new StdioClientTransport({ command, args, env: process.env, stderr: 'inherit' });
const sdkClient = new Client({ name: 'typescript-1', version: '1.32.2' }, { capabilities: { elicitation: { form: {} } } });
const client = {
  async list() {
    const tools = [];
    let cursor;
    do {
      const page = await sdkClient.listTools(cursor === undefined ? {} : { cursor });
      tools.push(...page.tools);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return tools;
  },
  call(name, input, { progress, signal }) {
    const options = { signal, timeout: 60_000, resetTimeoutOnProgress: true };
    if (progress) options.onprogress = progress;
    return sdkClient.callTool({ name, arguments: input }, undefined, options);
  },
  async close() {
    if (url) await transport.terminateSession();
    await sdkClient.close();
  },
};
sdkClient.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
  const yes = client.answer(`${params.message} ${JSON.stringify(params.requestedSchema)}`);
  return yes ? { action: 'accept', content: filled(params.requestedSchema, true) } : { action: 'decline' };
});
await sdkClient.connect(transport);
await run(client, `ts1-${url ? 'http' : 'stdio'}`);
