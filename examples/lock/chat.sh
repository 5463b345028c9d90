#!/bin/sh
# A server of MCP in shell, for docs/lock.md. With OLD=1 it says what was accepted; without, something else.
if [ -n "$OLD" ]; then
  says='Sends a message to one person.'
  more=''
else
  says='Sends a message to everyone.'
  more=',"cc":{"type":"array","items":{"type":"string"}}'
fi
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9][0-9]*\).*/\1/p')
  case $line in
    *'"method":"initialize"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"chat","version":"1"}}}\n' "$id" ;;
    *'"method":"tools/list"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"send","description":"%s","inputSchema":{"type":"object","properties":{"text":{"type":"string"}%s},"required":["text"]}}]}}\n' "$id" "$says" "$more" ;;
    *'"method":"tools/call"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"sent"}]}}\n' "$id" ;;
    *'"id":'*)
      printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"not here"}}\n' "$id" ;;
  esac
done
