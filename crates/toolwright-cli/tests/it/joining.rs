//! `toolwright add` and `toolwright connect`: servers come in, clients are told, and files of people stay theirs.

use serde_json::Value;

use crate::world::World;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn a_server_is_started_shown_and_written_once_somebody_agrees() {
    let world = World::new("add");
    world.copy("server.sh", "small-server.sh");
    let nobody = world.run("add sh small-server.sh");
    assert_eq!(nobody.code, 12, "{}", nobody.err);
    for words in
        ["+sources:", "+  small:", "+    command: sh", "+    args: [small-server.sh]", "show  read  Says hello", "change_not_accepted"]
    {
        assert!(nobody.err.contains(words), "{words}: {}", nobody.err);
    }
    assert!(!world.has("toolwright.yaml"));
    let added = world.run("add sh small-server.sh --yes --lock");
    assert_eq!((added.code, added.out.as_str()), (0, "added `small` to toolwright.yaml, 4 tools\n"), "{}", added.err);
    assert_eq!(
        world.read("toolwright.yaml"),
        "sources:\n  small:\n    command: sh\n    args: [small-server.sh]\n    trust: lock\n    cwd: .\n"
    );
    assert_eq!(world.run("diff").out, "nothing is different\n");
    assert_eq!(world.run("run small_show").out, "hello\n");
    let again = world.run("add sh small-server.sh --yes");
    assert!(again.code == 2 && again.err.contains("`--name`"), "{}", again.err);
}

/// One of two tools with one id could not be called; no server is written that would make it so.
#[test]
fn a_server_whose_tool_has_the_id_of_another_is_not_written() {
    let world = World::new("add_taken");
    world.copy("server.sh", "server.sh");
    let before =
        "sources:\n  here: {tools: {x_show: {argv: [date], effect: read}}}\ncomposites:\n  y_store: {steps: [{name: a, tool: x_show}]}\n";
    world.write("toolwright.yaml", before);
    for (name, id, owner) in [("x", "`x_show`", "`here`"), ("y", "`y_store`", "a composite")] {
        let refused = world.run(&format!("add --name {name} --yes sh server.sh"));
        assert_eq!(refused.code, 20, "{}", refused.err);
        let words = refused.err.replace("\n  │ ", " ");
        for word in ["config_duplicate_id", id, owner, "`--name`"] {
            assert!(words.contains(word), "{name} {word}: {words}");
        }
        assert_eq!(world.read("toolwright.yaml"), before);
    }
    assert_eq!(world.run("add --name x --prefix other_ --yes sh server.sh").code, 0);
    assert_eq!(world.run("check").code, 0);
}

/// Of several the first keeps its tools.
#[test]
fn of_two_new_servers_with_one_tool_id_one_is_left_out() {
    let world = World::new("add_both");
    world.copy("lister.sh", "lister.sh");
    for (file, name) in [("one", "b_c"), ("two", "c")] {
        world.write(file, &format!("{{\"name\":\"{name}\",\"inputSchema\":{{\"type\":\"object\"}}}}\n"));
    }
    let server = |tools: &str| format!(r#"{{"command": "sh", "args": ["lister.sh"], "env": {{"TOOLS": "{tools}"}}}}"#);
    world.write("client.json", &format!(r#"{{"mcpServers": {{"a": {}, "a_b": {}}}}}"#, server("one"), server("two")));
    let added = world.run("add --import client.json --yes");
    assert_eq!((added.code, added.out.as_str()), (20, "added `a` to toolwright.yaml, 1 tools\n"), "{}", added.err);
    assert!(added.err.contains("`a_b` was left out") && added.err.contains("`a_b_c`"), "{}", added.err);
    assert_eq!(world.run("check").code, 0);
}

#[test]
fn comments_and_layout_stay() {
    let world = World::new("add_layout");
    world.copy("server.sh", "server.sh");
    let before = "# what we use\nsources:\n  # the clock\n  time: {tools: {now: {argv: [date], effect: read}}} # always there\n\ncomposites:\n  when: {steps: [{name: a, tool: now}]}\n";
    world.write("toolwright.yaml", before);
    assert_eq!(world.run("lock --yes").code, 0);
    let added = world.run("add --name files --env TOKEN=abcdefgh --prefix f_ --yes sh server.sh");
    assert_eq!(added.code, 0, "{}", added.err);
    let entry =
        "  files:\n    command: sh\n    args: [server.sh]\n    env:\n      TOKEN: abcdefgh\n    prefix: f_\n    trust: lock\n    cwd: .\n";
    assert_eq!(world.read("toolwright.yaml"), before.replace("# always there\n", &format!("# always there\n{entry}")));
    // What is secret is not shown, and one without a value is that of the environment.
    let shown = world.run("add --name more --env TOKEN=ijklmnopq --env HOME sh server.sh");
    assert!(shown.code == 12 && !shown.err.contains("ijklmnopq") && shown.err.contains("[secret]"), "{}", shown.err);
    // A lock of others stays.
    assert_eq!(world.run("add --name third --yes --lock sh server.sh").code, 0);
    let lock = json(&world.read("toolwright.lock"));
    assert_eq!(lock["sources"].as_object().unwrap().keys().collect::<Vec<_>>(), ["third"]);
}

#[test]
fn what_does_not_start_is_not_written() {
    let world = World::new("add_dead");
    world.write("toolwright.yaml", "sources: {}\n");
    for (line, code, words) in [
        ("add --yes sh -- -c exit", 10, "`--no-start`"),
        ("add --yes no-such-program", 2, "npm:no-such-program"),
        ("add --yes http://127.0.0.1:9/mcp", 10, "it was not written"),
        ("add --yes --no-start --env X=${NO_SUCH} sh server.sh", 20, "NO_SUCH"),
    ] {
        let done = world.run(line);
        assert_eq!(done.code, code, "{line}: {}", done.err);
        assert!(done.err.contains(words), "{line}: {}", done.err);
        assert_eq!(world.read("toolwright.yaml"), "sources: {}\n", "{line}");
    }
    let written = world.run("add --yes --no-start @modelcontextprotocol/server-filesystem .");
    assert_eq!(written.code, 0, "{}", written.err);
    assert!(world.read("toolwright.yaml").contains("  filesystem:\n    command: npx\n"), "{}", world.read("toolwright.yaml"));
}

#[test]
fn servers_of_another_client_come_in() {
    let world = World::new("add_import");
    world.copy("server.sh", "server.sh");
    world.write(
        "client.json",
        r#"{ // a client's
          "mcpServers": {"one": {"command": "sh", "args": ["server.sh"]}, "two": {"command": "sh", "args": ["server.sh"], "env": {"A": "b"}},
          "off": {"command": "x", "disabled": true}}}"#,
    );
    let done = world.run("add --import client.json --yes --lock --format json");
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(done.err.contains("`off` was left out"), "{}", done.err);
    assert_eq!(json(&done.out)["added"], serde_json::json!([{"name": "one", "tools": 4}, {"name": "two", "tools": 4}]));
    assert_eq!(world.run("run two_show").out, "hello\n");
    let missing = world.run("add --import client.json --yes three");
    assert!(missing.code == 2 && missing.err.contains("one, two, off"), "{}", missing.err);
}

#[test]
fn a_client_is_told_and_its_file_stays_its_own() {
    let world = World::new("connect");
    world.write("toolwright.yaml", "sources: {}\n");
    let file = ".cursor/mcp.json";
    let before =
        "{\n  // mine\n  \"mcpServers\": {\n    \"other\": { \"command\": \"o\", \"env\": { \"KEY\": \"do-not-show\" } }\n  }\n}\n";
    world.write(file, before);
    let nobody = world.run("connect cursor");
    assert_eq!((nobody.code, world.read(file).as_str()), (12, before), "{}", nobody.err);
    assert!(nobody.err.contains("+    \"toolwright\": {") && !nobody.err.contains("do-not-show"), "{}", nobody.err);
    let done = world.run("connect cursor --yes --audience team");
    assert_eq!(done.code, 0, "{}", done.err);
    let after = world.read(file);
    assert!(after.starts_with(before.split("\n  }").next().unwrap().trim_end_matches('}').trim_end()), "{after}");
    let entry = json(&after.replace("// mine", ""))["mcpServers"]["toolwright"].clone();
    assert!(entry["command"].as_str().unwrap().ends_with("toolwright"), "{entry}");
    let config = world.dir.join("toolwright.yaml").display().to_string();
    assert_eq!(entry["args"], serde_json::json!(["serve", "--file", config, "--audience", "team"]));
    assert_eq!(world.read(".cursor/mcp.json.backup-1"), before);
    assert!(world.run("connect cursor --yes --audience team").out.contains("it is there already"));
    assert!(!world.has(".cursor/mcp.json.backup-2"));
    let gone = world.run("connect cursor --remove --yes");
    assert_eq!(gone.code, 0, "{}", gone.err);
    assert_eq!(world.read(file), before);
    assert!(world.has(".cursor/mcp.json.backup-2"));
    assert!(world.run("connect cursor --remove --yes").out.contains("it was not there"));
    // What cannot be read is left alone.
    world.write(file, "{ \"mcpServers\": ");
    let broken = world.run("connect cursor --yes");
    assert!(broken.code == 2 && broken.err.contains("config_not_changed"), "{}", broken.err);
    assert_eq!(world.read(file), "{ \"mcpServers\": ");
}

#[test]
fn every_client_has_its_file_and_its_form() {
    let world = World::new("connect_all");
    world.write("toolwright.yaml", "sources: {}\n");
    for (client, file, section) in [
        ("claude-desktop", "home/.config/Claude/claude_desktop_config.json", "mcpServers"),
        ("claude-code", ".mcp.json", "mcpServers"),
        ("cursor", ".cursor/mcp.json", "mcpServers"),
        ("vscode", ".vscode/mcp.json", "servers"),
        ("windsurf", "home/.codeium/windsurf/mcp_config.json", "mcpServers"),
        ("gemini", ".gemini/settings.json", "mcpServers"),
        ("zed", "home/.config/zed/settings.json", "context_servers"),
        ("lm-studio", "home/.lmstudio/mcp.json", "mcpServers"),
    ] {
        let printed = world.run(&format!("connect {client} --print"));
        assert_eq!(printed.code, 0, "{client}: {}", printed.err);
        assert!(!world.has(file), "{client}");
        let done = world.run(&format!("connect {client} --yes"));
        assert_eq!(done.code, 0, "{client}: {}", done.err);
        if cfg!(target_os = "linux") {
            let written = json(&world.read(file));
            assert_eq!(written, json(&printed.out), "{client}");
            assert_eq!(written[section]["toolwright"]["args"][0], "serve", "{client}");
        }
    }
    let codex = world.run("connect codex --yes");
    assert_eq!(codex.code, 0, "{}", codex.err);
    let toml = world.read("home/.codex/config.toml");
    assert!(toml.starts_with("[mcp_servers.toolwright]\ncommand = \"") && toml.contains("args = [\"serve\","), "{toml}");
    assert_eq!(world.run("connect cursor --user --yes").code, 0);
    assert!(world.has("home/.cursor/mcp.json"));
    assert!(world.run("connect cursor --file nowhere.yaml --yes").code == 2);
}

#[test]
fn one_bad_server_does_not_stop_the_others() {
    let world = World::new("add_import_bad");
    world.copy("server.sh", "server.sh");
    world.write("toolwright.yaml", "sources:\r\n  time: {tools: {now: {argv: [date], effect: read}}}\r\n# tail\r\n");
    world.write(
        "client.json",
        r#"{"mcpServers": {"input": {"command": "sh", "args": ["${input:tok}"]}, "dead": {"command": "sh", "args": ["-c", "exit 3"]},
          "good": {"command": "sh", "args": ["server.sh"]}, "time": {"command": "x"}, "none": {}}}"#,
    );
    let done = world.run("add --import client.json --yes --format json");
    assert_eq!(done.code, 20, "{}", done.err);
    for name in ["input", "dead", "time", "none"] {
        assert!(done.err.contains(&format!("`{name}` was left out: ")), "{name}: {}", done.err);
    }
    assert!(!done.err.contains("toolwright.yaml:"), "no place in a text that nobody has: {}", done.err);
    let said = json(&done.out);
    assert_eq!(said["added"], serde_json::json!([{"name": "good", "tools": 4}]));
    assert_eq!(said["leftOut"].as_array().unwrap().len(), 4, "{said}");
    let written = "  good:\r\n    command: sh\r\n    args: [server.sh]\r\n    trust: lock\r\n# tail\r\n";
    let after = world.read("toolwright.yaml");
    assert!(after.ends_with(written) && after.matches('\n').count() == after.matches("\r\n").count(), "{after:?}");
    // When none is left, nothing is written.
    let none = world.run("add --import client.json --yes dead none");
    assert!(none.code == 10 && none.err.contains("`none` was left out"), "{}", none.err);
    assert_eq!(world.read("toolwright.yaml"), after);
}

#[test]
fn a_file_of_codex_keeps_all_that_is_not_ours() {
    let world = World::new("connect_toml");
    world.write("toolwright.yaml", "sources: {}\n");
    let file = "home/.codex/config.toml";
    for before in [
        "x = \"\"\"\n[mcp_servers.toolwright]\ncommand = \"keep me\"\n\"\"\"\n[mcp_servers.a]\ncommand = \"x\"\n",
        "x = 1\r\n[a]\r\ny=2\r\n",
    ] {
        world.write(file, before);
        let done = world.run("connect codex --yes");
        assert_eq!(done.code, 0, "{}", done.err);
        let after = world.read(file);
        assert!(after.starts_with(before) && after.contains("[mcp_servers.toolwright]"), "{after:?}");
        assert_eq!(after.contains('\r'), after.matches('\n').count() == after.matches("\r\n").count(), "{after:?}");
        assert_eq!(world.run("connect codex --remove --yes").code, 0);
        assert_eq!(world.read(file), before);
    }
    for before in ["bad = = 1\n", "[[mcp_servers.toolwright]]\ncommand='x'\n"] {
        world.write(file, before);
        for line in ["connect codex --yes", "connect codex --remove --yes"] {
            let done = world.run(line);
            assert!(done.code == 2 && done.err.contains("config_not_changed"), "{line}: {}", done.err);
            assert_eq!(world.read(file), before);
        }
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_is_refused_at_once() {
    let world = World::new("connect_pipe");
    std::fs::create_dir_all(world.dir.join(".cursor")).unwrap();
    for pipe in [".cursor/mcp.json", "toolwright.yaml"] {
        assert!(std::process::Command::new("mkfifo").arg(world.dir.join(pipe)).status().unwrap().success());
    }
    for line in ["connect cursor --yes --user --file toolwright.yaml", "add --yes --no-start npm:x", "add --import .cursor/mcp.json --yes"]
    {
        let done = world.run(line);
        assert_eq!(done.code, 2, "{line}: {}", done.err);
    }
    std::fs::remove_file(world.dir.join("toolwright.yaml")).unwrap();
    world.write("toolwright.yaml", "sources: {}\n");
    let done = world.run("connect cursor --yes");
    assert!(done.code == 2 && done.err.contains("no regular file"), "{}", done.err);
}
