//! What command lines and MCP servers can do to a call.

use super::{CodeExample, CodePage};

pages! {
    "command_not_found", "the program of a command line does not exist",
        "The first element of `argv` was looked up in `PATH` and is not there. Nothing was started.",
        file(r#"sources:
  s:
    tools:
      log: { argv: [gti, log], effect: read }
"#, "run log"),
        "Mend the name, install the program, or write its whole path. The message shows where it was looked for.";
    "command_not_started", "the program of a command line could not be started",
        "The program exists, and the operating system refused to start it: it may not be executed, its folder is missing, or an argument is too long.",
        file(r#"sources:
  s:
    tools:
      log: { argv: [date], cwd: nowhere, effect: read }
"#, "run log"),
        "The message has the reason of the operating system.";
    "exit_code", "a command ended with an exit code that is no success",
        "Only the codes in `exitCodes`, usually 0, count as success. The details have the code and the end of what the program wrote to its standard error.",
        file(r#"sources:
  s:
    tools:
      look: { argv: ["false"], effect: read }
"#, "run look"),
        "Read the program's own words. If the code is a normal answer, as 1 is for `grep`, add it to `exitCodes`.";
    "timeout", "a command took too long",
        "The program and everything it had started were ended. If it has side effects, its outcome is unknown.",
        file(r#"sources:
  s:
    tools:
      wait: { argv: [sleep, "60"], timeout: 100ms, effect: read }
"#, "run wait"),
        "Raise `timeout`, or give the program less to do.";
    "output_too_large", "a command wrote more than it may",
        "The output is held in memory, so it has a limit, `maxOutput`. The program was ended when it passed it.",
        file(r#"sources:
  s:
    tools:
      say: { argv: ["yes"], maxOutput: 1KiB, effect: read }
"#, "run say"),
        "Let the program write less, or raise `maxOutput`.";
    "upstream_start_failed", "an MCP server did not start",
        "Its program is missing, ended at once, or did not finish the handshake in time. Other servers are not affected.",
        told("a server whose program ends at once, when it is started for a call", "toolwright-mcp"),
        "The message has the server's own last words; run its command by hand to see more.";
    "upstream_unavailable", "an MCP server cannot be reached now",
        "It failed several times in a row and is left alone for a while, or it is being shut down. Nothing was sent.",
        told("a server that crashed at every start so far", "toolwright-mcp"),
        "Mend the server; the next call after the pause tries again.";
    "upstream_exited", "an MCP server ended while a call was running",
        "No answer will come. If the tool has side effects, its outcome is unknown. The server is started again for the next call.",
        file(r#"sources:
  s:
    command: sh
    args:
      - -c
      - |
        while read -r line; do
          id=$(echo "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
          answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
          case $line in
            *'"server/discover"'*) echo '{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"what?"}}' ;;
            *'"initialize"'*) answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
            *'"tools/list"'*) answer '{"tools":[{"name":"go","inputSchema":{"type":"object"}}]}' ;;
            *'"tools/call"'*) exit ;;
          esac
        done
tools:
  s_go: { effect: read }
"#, "run s_go"),
        "Check outside whether the effect happened. The message has the server's last words.";
    "upstream_disconnected", "the connection to an MCP server was lost while a call was running",
        "No answer will come. If the tool has side effects, its outcome is unknown.",
        told("a network that goes away in the middle of a call", "toolwright-mcp"),
        "Check outside whether the effect happened, then call again.";
    "upstream_protocol_error", "an MCP server answered with something that is no answer",
        "The reply could not be read, nests too deep, or is an error of the protocol. Only this call is affected.",
        file(r#"sources:
  s:
    command: sh
    args:
      - -c
      - |
        while read -r line; do
          id=$(echo "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
          answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
          case $line in
            *'"server/discover"'*) echo '{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"what?"}}' ;;
            *'"initialize"'*) answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
            *'"tools/list"'*) answer '{"tools":[{"name":"go","inputSchema":{"type":"object"}}]}' ;;
            *'"tools/call"'*) answer NaN ;;
          esac
        done
tools:
  s_go: { effect: read }
"#, "run s_go"),
        "Report it to the server's owner; the message shows what was wrong.";
    "upstream_timeout", "an MCP server was silent or busy for too long",
        "A call has a limit for silence, `idleTimeout`, which progress resets, and one for its whole length, `callTimeout`. The server was told to stop.",
        file(r#"sources:
  s:
    command: sh
    idleTimeout: 200ms
    args:
      - -c
      - |
        while read -r line; do
          id=$(echo "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
          answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
          case $line in
            *'"server/discover"'*) echo '{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"what?"}}' ;;
            *'"initialize"'*) answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
            *'"tools/list"'*) answer '{"tools":[{"name":"go","inputSchema":{"type":"object"}}]}' ;;
            *'"tools/call"'*) sleep 2 ;;
          esac
        done
tools:
  s_go: { effect: read }
"#, "run s_go"),
        "Raise the limit that the message names, or give the tool less to do.";
    "catalog_changed", "a tool is not what was accepted",
        "The server says something else about the tool than `toolwright.lock`: other words, other arguments, other hints. Until somebody has looked at it, the tool is withheld and composites over it are stale; all other tools work. Nothing was sent.",
        told("a server that has other words about a tool than when it was locked, when the tool is called", "toolwright-cli"),
        "`toolwright diff` shows what is different, and `toolwright lock` accepts it.";
    "session_lost", "an MCP server forgot its session twice in a row",
        "A server that forgets a session gets a new one, and the call is sent once more. It forgot that one too.",
        told("a server that answers 404 to everything", "toolwright-mcp"),
        "Look at the server; it may restart all the time.";
    "upstream_input_required", "an MCP server needs an answer and nobody gives one",
        "The server asks for something before it gives its result: an answer of the person, of the client's model, or the client's folders. Whoever made the call cannot be asked, or refused.",
        told("a server that asks the person, called where nobody can be asked", "toolwright-mcp"),
        "Call the tool from a client that can be asked, or choose arguments with which the server needs no answer.";
    "upstream_unauthorized", "an MCP server wants other credentials",
        "The server refused the request. Nothing ran.",
        told("a server that answers 401 to a call, because its token expired", "toolwright-mcp"),
        "Set the variable that the header is made of, and try again.";
}
